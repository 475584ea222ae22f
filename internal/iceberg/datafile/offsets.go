package datafile

// Offsets tells the least and the highest offset of the file's rows, as the statistics of its row groups have them. ok is false
// where it has no such statistics, or no rows.
func (f *File) Offsets() (least, most int64, ok bool) {
	for i, g := range f.groups {
		low, high, known := g.chunks[offsetColumn].column.Bounds()
		if !known || low.IsNull() || high.IsNull() {
			return 0, 0, false
		}
		if i == 0 {
			least, most = low.Int64(), high.Int64()
		}
		least, most = min(least, low.Int64()), max(most, high.Int64())
	}
	return least, most, len(f.groups) > 0
}
