package config

import (
	"fmt"
	"strings"
)

// Problem is what is wrong with one setting.
type Problem struct {
	Name    string // as the user wrote it
	Value   string // what may be shown of it
	Origin  string // where it was set
	Message string
}

func (p Problem) String() string {
	if p.Origin == "" {
		return fmt.Sprintf("%s: %s", p.Name, p.Message)
	}
	return fmt.Sprintf("%s=%q (%s): %s", p.Name, p.Value, p.Origin, p.Message)
}

// Problems is all that is wrong with the settings; as an error it lists every one on a line of its own.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, 0, 1+len(p))
	lines = append(lines, fmt.Sprintf("%d wrong settings:", len(p)))
	if len(p) == 1 {
		lines[0] = "wrong setting:"
	}
	for _, problem := range p {
		lines = append(lines, "  "+problem.String())
	}
	return strings.Join(lines, "\n")
}

// unknown describes a name that is no setting.
func unknown(name string, known []string) string {
	for _, group := range laterGroups {
		if strings.HasPrefix(strings.TrimPrefix(name, "--"), group) || strings.HasPrefix(name, envName(group)) {
			return "not in this version"
		}
	}
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("unknown setting, did you mean %s?", near)
	}
	return "unknown setting"
}

// nearest returns the known name that is most like name, or "" when none is like it: few edits away, or alone in
// ending with the same word.
func nearest(name string, known []string) string {
	best, edits, sameWord := "", len(name)/4+1, []string{}
	word := name[strings.LastIndexAny(name, "._")+1:]
	for _, k := range known {
		if d := distance(name, k); d < edits {
			best, edits = k, d
		}
		if word != "" && (strings.HasSuffix(k, "."+word) || strings.HasSuffix(k, "_"+word)) {
			sameWord = append(sameWord, k)
		}
	}
	if best == "" && len(sameWord) == 1 {
		return sameWord[0]
	}
	return best
}

// distance is the number of inserted, removed and replaced bytes between a and b.
func distance(a, b string) int {
	const longest = 128 // names are shorter, and the work is len(a) * len(b)
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
