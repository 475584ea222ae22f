package work

import (
	"crypto/sha1" //nolint:gosec // Redis names scripts by SHA-1
	"encoding/hex"
	"strings"
)

func sha(script string) string {
	sum := sha1.Sum([]byte(script)) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}

// firstLine is what a script says of itself, behind the guard that the worker's begin with.
func firstLine(script string) string {
	if _, own, ok := strings.Cut(script, "'fence', ARGV[2]) end\n"); ok {
		script = own
	}
	line, _, _ := strings.Cut(script, "\n")
	return line
}
