package load

import (
	"fmt"
	"math/rand/v2"
)

var (
	levels   = []string{"INFO", "INFO", "INFO", "WARN", "ERROR"}
	services = []string{"checkout", "inventory", "payment", "shipping", "catalog"}
	statuses = []string{"created", "paid", "packed", "shipped", "delivered", "returned"}
	cities   = []string{"Berlin", "Paris", "Madrid", "Vienna", "Lisbon", "Prague", "Warsaw", "Dublin"}
	articles = []string{"steel bottle", "wool blanket", "desk lamp", "coffee grinder", "garden chair", "rain jacket", "notebook"}
)

// NewJSON makes values of size bytes that are events of orders in JSON: names and words repeat, ids, amounts and times do not.
func NewJSON(size int, seed uint64) *Content {
	random := rand.New(rand.NewPCG(seed, seed))
	count := max(4<<20/max(size, 1), 1)
	c := &Content{block: make([]byte, 0, count*size), size: size}
	for n := range count {
		c.block = appendEvent(c.block, n, len(c.block)+size, random)
	}
	return c
}

// appendEvent appends one event that ends at an index of dst; a size too small for one cuts it off.
func appendEvent(dst []byte, n, end int, r *rand.Rand) []byte {
	pick := func(words []string) string { return words[r.IntN(len(words))] }
	dst = fmt.Appendf(dst, `{"ts":"2026-03-%02dT%02d:%02d:%02d.%03dZ","level":"%s","service":"%s","order":%d,"customer":"c-%06d","status":"%s","city":"%s","items":[`,
		1+n/86400%28, n/3600%24, n/60%60, n%60, r.IntN(1000), pick(levels), pick(services), 7_000_000+n, r.IntN(1_000_000), pick(statuses), pick(cities))
	const tail = len(`],"note":""}`)
	for i := 0; ; i++ {
		item := fmt.Sprintf(`{"sku":"SKU-%05d","name":"%s","quantity":%d,"price":%d.%02d,"warehouse":"%s"}`,
			r.IntN(5000), pick(articles), 1+r.IntN(9), r.IntN(200), r.IntN(100), pick(cities))
		if i > 0 {
			item = "," + item
		}
		if len(dst)+len(item)+tail > end {
			break
		}
		dst = append(dst, item...)
	}
	dst = append(dst, `],"note":"`...)
	for len(dst) < end-2 {
		dst = append(dst, "abcdefghijklmnopqrstuvwxyz"[r.IntN(26)])
	}
	return append(dst[:max(end-2, 0)], `"}`...)
}
