package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseFile reads a YAML file: nested names or names with dots, lists, no anchors, no name twice.
func parseFile(path string, data []byte) ([]entry, Problems) {
	r := fileReader{path: path, seen: map[string]bool{}}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF): // nothing but comments
		return nil, nil
	case err != nil:
		return nil, Problems{{Name: path, Message: err.Error()}}
	}
	r.walk("", document.Content[0])
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		r.problems = append(r.problems, Problem{Name: path, Message: "must hold one document"})
	}
	return r.entries, r.problems
}

type fileReader struct {
	path     string
	seen     map[string]bool
	entries  []entry
	problems Problems
}

func (r *fileReader) walk(name string, n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			r.walk(strings.TrimPrefix(name+"."+n.Content[i].Value, "."), n.Content[i+1])
		}
	case yaml.SequenceNode:
		if name != topicsName && plainList(n) {
			r.add(name, n, joinList(n))
			return
		}
		for i, item := range n.Content {
			r.walk(fmt.Sprintf("%s[%d]", name, i), item)
		}
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			r.problem(name, n, "has no value")
			return
		}
		r.add(name, n, n.Value)
	default:
		r.problem(name, n, "anchors and aliases are not supported")
	}
}

func (r *fileReader) add(name string, n *yaml.Node, text string) {
	if r.seen[name] {
		r.problem(name, n, "is set twice")
		return
	}
	r.seen[name] = true
	r.entries = append(r.entries, entry{name: name, shown: name, text: text, origin: r.origin(n)})
}

func (r *fileReader) problem(name string, n *yaml.Node, message string) {
	value := n.Value
	if secretName(name) {
		value = mask
	}
	r.problems = append(r.problems, Problem{Name: name, Value: maskURI(value), Origin: r.origin(n), Message: message})
}

func (r *fileReader) origin(n *yaml.Node) string { return fmt.Sprintf("%s:%d", r.path, n.Line) }

// plainList tells whether a list is one of words, which can stand for text with commas.
func plainList(n *yaml.Node) bool {
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			return false
		}
	}
	return true
}

func joinList(n *yaml.Node) string {
	words := make([]string, len(n.Content))
	for i, item := range n.Content {
		words[i] = item.Value
	}
	return strings.Join(words, ",")
}
