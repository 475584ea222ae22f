package chain

import (
	"fmt"

	"github.com/apache/iceberg-go/table"
)

// parse reads what is in a metadata file. ErrCorrupt.
func parse(v *Version) (m table.Metadata, err error) {
	defer Corrupted(v.Location, &err)
	return table.ParseMetadataBytes(v.Raw)
}

// Corrupted is deferred by who decodes a metadata file, a manifest or a manifest list with the Iceberg library, which panics at some
// that are damaged: it makes its error, or that panic, one that names the file.
func Corrupted(location string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("malformed: %v", p)
	}
	if *err != nil {
		*err = fmt.Errorf("read %s: %w: %w", location, ErrCorrupt, *err)
	}
}
