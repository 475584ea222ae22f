package tables

import "slices"

// What is merged is decided here, from a list of files: nothing in this file asks the store.

// mergeGroup is files of one partition that become one, or several of about the target's size, in offset order.
type mergeGroup struct {
	partition int32
	files     []File
	bytes     int64
	until     int64 // offset of the first row that is left out; 0: none is
}

// planMerge lists what is worth rewriting: adjacent small files that fill a file of the target's size, or that are many; files of
// which rows were deleted; files that have offsets between those of others, as an engine's rewrite may leave them.
func planMerge(files *Files, r *MergeRules) (groups []mergeGroup) {
	partitions := make([]int32, 0, len(files.Data))
	for p := range files.Data {
		partitions = append(partitions, p)
	}
	slices.Sort(partitions)
	for _, p := range partitions {
		groups = append(groups, planPartition(p, files, r)...)
	}
	return groups
}

func planPartition(p int32, files *Files, r *MergeRules) (groups []mergeGroup) {
	var g mergeGroup
	must, end := false, int64(-1)
	flush := func() {
		if must || len(g.files) >= 2 && g.bytes >= r.TargetBytes || len(g.files) >= max(2, r.MinFiles) {
			groups = append(groups, g)
		}
		g, must = mergeGroup{partition: p}, false
	}
	g.partition = p
	for _, f := range files.Data[p] {
		among := len(g.files) > 0 && f.First <= end
		deleted := slices.ContainsFunc(files.Deletes, func(d Deletes) bool { return d.Concerns(&f) })
		small := f.Bytes < r.TargetBytes/4*3
		if !among && (g.bytes >= r.TargetBytes || !small && !deleted) {
			flush()
		}
		g.files, g.bytes = append(g.files, f), g.bytes+f.Bytes
		must = must || among || deleted
		end = max(end, f.Last)
	}
	flush()
	return groups
}
