package tables

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/store"
)

const (
	// leastAge is the least age of a file that is swept: far more than passes between an upload and its commit.
	leastAge = time.Hour
	// mostSwept bounds what one sweep deletes.
	mostSwept = 10_000
)

// Swept is what Sweep found and deleted.
type Swept struct {
	Orphans int   // files that no version of the table names, older than the age
	Bytes   int64 // of them
}

// Sweep deletes files below the table's data and metadata folders that no version of the table names and that are older than
// an age, at least an hour: what a crash, or a commit that came second, left behind. It lists both folders. It is for the
// storage worker of a fencing number, and may be repeated. Of another catalog's table it is what neither the newest metadata file
// that the catalog has names nor one before it, as they tell of each other.
func (t *Table) Sweep(ctx context.Context, fence int64, age time.Duration) (Swept, error) {
	s, err := t.sweep(ctx, fence, max(age, leastAge))
	if err != nil {
		return s, fmt.Errorf("sweep table's orphans: %w", err)
	}
	return s, nil
}

func (t *Table) sweep(ctx context.Context, fence int64, age time.Duration) (swept Swept, err error) {
	s, err := t.cleanable(ctx, fence)
	if s == nil || err != nil {
		return swept, err
	}
	kept, err := t.namedByVersions(ctx, s.version, age)
	if errors.Is(err, chain.ErrElsewhere) {
		return swept, nil
	}
	if err != nil {
		return swept, err
	}
	var orphans []store.Object
	for _, folder := range []string{"/data/", "/metadata/"} {
		err := t.store.List(ctx, t.chain.Location+folder, func(o store.Object) error {
			if t.chain.Now().Sub(o.Modified) > age && !t.chain.Own(o.Location) && !kept.names(o.Location) && len(orphans) < mostSwept {
				orphans = append(orphans, o)
			}
			return nil
		})
		if err != nil {
			return swept, err
		}
	}
	if len(orphans) == 0 {
		return swept, nil
	}
	if err := t.addNewest(ctx, kept); err != nil { // it may have taken a while
		return swept, err
	}
	if err := kept.readAll(nil); err != nil {
		return swept, err
	}
	var locations []string
	for _, o := range orphans {
		if !kept.names(o.Location) {
			locations = append(locations, o.Location)
			swept.Orphans++
			swept.Bytes += o.Size
		}
	}
	return swept, t.store.Delete(ctx, locations)
}

// namedByVersions tells what the versions that are there name. A file that is older than two days and that a version between
// the oldest and the newest names is also named by one of those two: the ones between are younger than a day.
func (t *Table) namedByVersions(ctx context.Context, current *chain.Version, age time.Duration) (*named, error) {
	kept := t.namedBy(ctx, false)
	past, err := t.chain.Past(ctx, current)
	if err != nil {
		return nil, err
	}
	kept.files[store.Plain(current.Location)] = true
	read := past
	if age >= 2*chain.Keep {
		read = past[:min(len(past), len(t.chain.Old(past, 0, math.MaxInt))+1)]
	}
	for _, p := range past {
		kept.files[store.Plain(p.Location)] = true
	}
	for _, p := range read {
		v, err := t.chain.At(ctx, p.Location)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := kept.add(v.Metadata, nil); err != nil {
			return nil, err
		}
	}
	if err := kept.add(current.Metadata, nil); err != nil {
		return nil, err
	}
	return kept, kept.readAll(nil)
}

// names tells whether a file is one of those, or the checksum that Hadoop's local file system keeps beside one.
func (n *named) names(location string) bool {
	l := store.Plain(location)
	if folder, name := path.Split(l); strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".crc") {
		l = folder + strings.TrimSuffix(name[1:], ".crc")
	}
	return n.files[l] || n.lists[l] || n.manifests[l] != nil
}
