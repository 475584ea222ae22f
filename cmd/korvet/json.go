package main

import (
	"encoding/json"
	"io"
)

// printJSON prints what a command tells programs: one document in all. What may be about several things is a list, also
// where it is one or none; what is about one thing is an object. Lists are never null. Errors and progress go elsewhere.
func printJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
