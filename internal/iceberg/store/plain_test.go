package store

import "testing"

func TestLocationsThatMeanTheSame(t *testing.T) {
	for _, same := range [][]string{
		{"file:/dir/a b", "file:///dir/a b", "file:/dir/a%20b", "file:///dir/%61%20b"},
		{"file:/dir/50%25", "file:///dir/50%25", "file:///dir/50%"},
		{"file:/dir/%2562", "file:///dir/%2562"}, // decoded once, not twice
		{"file:/dir/../x", "file:///dir/%2e%2e/x"},
		{"s3://b/k", "s3a://b/k", "s3n://b/k"},
		{"abfs://c@a/k", "abfss://c@a/k"},
		{"s3://b/a%20b"}, // keys of a bucket are not encoded
		{"s3://b/a b"},
		{"gs://b/k"},
		{""},
	} {
		for _, l := range same {
			if got := Plain(l); got != Plain(same[0]) {
				t.Errorf("%s is %s, and %s is %s", l, got, same[0], Plain(same[0]))
			}
			if got := Plain(Plain(l)); got != Plain(l) {
				t.Errorf("%s, again: %s, then %s", l, Plain(l), got)
			}
		}
	}
	if a, b := Plain("s3://b/a%20b"), Plain("s3://b/a b"); a == b {
		t.Errorf("two keys of a bucket are both %s", a)
	}
}

func FuzzPlain(f *testing.F) {
	for _, l := range []string{"file:///dir/%2e%2e/x", "file:/%25%", "s3a://b/k", "file:////a"} {
		f.Add(l)
	}
	f.Fuzz(func(t *testing.T, location string) {
		plain := Plain(location)
		if again := Plain(plain); again != plain {
			t.Fatalf("%q: %q, then %q", location, plain, again)
		}
		name, err := path(location)
		if err != nil {
			return
		}
		if same, err := path(plain); err != nil || same != name {
			t.Fatalf("%q is the file %q, and %q the file %q: %v", location, name, plain, same, err)
		}
	})
}
