package group

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// partitionLines are partitions by topic id, as in "0-9,12".
type partitionLines map[uuid.UUID]string

func linesOf(s partitionSet) partitionLines {
	lines := make(partitionLines, len(s))
	for _, t := range s {
		lines[t.Topic] = formatPartitions(t.Partitions)
	}
	return lines
}

func (l partitionLines) set() (partitionSet, error) {
	byID := make(map[uuid.UUID][]int32, len(l))
	for id, text := range l {
		partitions, err := parsePartitions(text)
		if err != nil {
			return nil, err
		}
		byID[id] = partitions
	}
	return setOfTopics(byID), nil
}

// formatPartitions writes ascending numbers as ranges.
func formatPartitions(partitions []int32) string {
	var b strings.Builder
	for i := 0; i < len(partitions); {
		last := i
		for last+1 < len(partitions) && partitions[last+1] == partitions[last]+1 {
			last++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(partitions[i])))
		if last > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(int(partitions[last])))
		}
		i = last + 1
	}
	return b.String()
}

// maxPartition bounds what a broken line can make of a range.
const maxPartition = 1 << 20

func parsePartitions(text string) ([]int32, error) {
	var partitions []int32
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 31)
		last, err2 := strconv.ParseUint(to, 10, 31)
		if err1 != nil || err2 != nil || last < first || last >= maxPartition || len(partitions) >= maxPartition {
			return nil, fmt.Errorf("parse partitions %.20q", text)
		}
		partitions = append(partitions, run(int32(first), int32(last-first+1))...)
	}
	return partitions, nil
}
