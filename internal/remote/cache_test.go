package remote

import "testing"

// TestWhatIsInUseIsNotGivenToOthers: the memory of a value goes to another one only when it is in the cache no more and whoever began
// it has released it, in whichever order.
func TestWhatIsInUseIsNotGivenToOthers(t *testing.T) {
	c := newCache[string, string](10)
	var unused []string
	c.unused = func(v string) { unused = append(unused, v) }
	read := func(k string) *entry[string, string] {
		e, fresh := c.begin(k)
		if fresh {
			c.end(e, k, 8, nil)
		}
		return e
	}
	expect := func(n int, last string) {
		t.Helper()
		if len(unused) != n || n > 0 && unused[n-1] != last {
			t.Fatalf("unused are %v", unused)
		}
	}
	a, again := read("a"), read("a")
	c.release(a)
	b := read("b") // a has no room any more
	expect(0, "")
	c.release(again)
	expect(1, "a")
	c.release(b)
	expect(1, "a") // it is kept
	c.release(read("c"))
	expect(2, "b")
	if c.has("a") || c.has("b") || !c.has("c") {
		t.Error("the newest alone is kept")
	}
}
