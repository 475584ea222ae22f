package chain

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"

	"github.com/apache/iceberg-go/table"
)

// parse reads what is in a metadata file. ErrCorrupt.
func parse(v *Version) (m table.Metadata, err error) {
	defer Corrupted(v.Location, &err)
	if strings.HasSuffix(v.Location, ".gz.metadata.json") || strings.HasSuffix(v.Location, ".metadata.json.gz") { // as other catalogs may write it
		if v.Raw, err = unzip(v.Raw); err != nil {
			return nil, err
		}
	}
	return table.ParseMetadataBytes(v.Raw)
}

// maxUnzipped bounds the bytes of a metadata file that is written compressed.
const maxUnzipped = 256 << 20

func unzip(raw []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(io.LimitReader(r, maxUnzipped+1))
	if err == nil && len(all) > maxUnzipped {
		err = fmt.Errorf("it has more than %d bytes", maxUnzipped)
	}
	return all, err
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
