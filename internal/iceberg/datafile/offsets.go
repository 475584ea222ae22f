package datafile

// Offsets tells the least and the highest offset of the file's rows, as the statistics of its row groups have them. ok is false
// where it has no such statistics, or no rows.
func (f *File) Offsets() (least, most int64, ok bool) {
	for i, g := range f.groups {
		k := g.chunks[offsetColumn]
		if !k.bounded {
			return 0, 0, false
		}
		if i == 0 {
			least, most = k.least, k.most
		}
		least, most = min(least, k.least), max(most, k.most)
	}
	return least, most, len(f.groups) > 0
}
