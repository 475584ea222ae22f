package clients_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// errUnknownVerb is a mistake of this test.
var errUnknownVerb = errors.New("unknown verb")

// number is a word that is one: the callers' own.
func number[T int | int32 | int64](word string) T {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		panic(err)
	}
	return T(n)
}

func texts[T int | int32 | int64](numbers ...T) []string {
	list := make([]string, len(numbers))
	for i, n := range numbers {
		list[i] = fmt.Sprint(n)
	}
	return list
}

func keys[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
