package remote

import (
	"sort"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
)

// cluster are data files of a partition whose offsets lie between each other's: mostly it is one. Engines that rewrite files may
// leave several, until they are merged.
type cluster struct {
	first, last int64 // offsets
	files       []tables.File
}

// clusters divides a partition's files, which come by rising first offset.
func clusters(files []tables.File) []cluster {
	var list []cluster
	for i := range files {
		f := &files[i]
		if n := len(list); n > 0 && f.First <= list[n-1].last {
			c := &list[n-1]
			c.files, c.last = files[i-len(c.files):i+1], max(c.last, f.Last)
			continue
		}
		list = append(list, cluster{f.First, f.Last, files[i : i+1]})
	}
	return list
}

// from are a partition's clusters that have an offset or one after it.
func (s *snapshot) from(partition int32, offset int64) []cluster {
	list := s.clusters[partition]
	return list[sort.Search(len(list), func(i int) bool { return list[i].last >= offset }):]
}

// filter says what a search passes over without reading it. A nil one passes over nothing.
type filter struct {
	// file and stretch tell whether there may be something for the search.
	file    func(*tables.File) bool
	stretch func(*stretch) bool
}

func (f *filter) wantsFile(t *tables.File) bool { return f == nil || f.file(t) }
func (f *filter) wantsStretch(s *stretch) bool  { return f == nil || f.stretch(s) }
