package atrest

import (
	"fmt"
	"math/rand/v2"
)

var (
	levels    = []string{"INFO", "INFO", "INFO", "WARN", "ERROR", "DEBUG"}
	services  = []string{"checkout", "inventory", "payment", "shipping", "catalog", "gateway"}
	statuses  = []string{"created", "paid", "packed", "shipped", "delivered", "returned"}
	cities    = []string{"Berlin", "Paris", "Madrid", "Vienna", "Lisbon", "Prague", "Warsaw", "Dublin"}
	currency  = []string{"EUR", "USD", "GBP"}
	articles  = []string{"steel bottle", "wool blanket", "desk lamp", "coffee grinder", "garden chair", "rain jacket", "paper notebook"}
	summaries = []string{"order accepted by the warehouse", "payment was confirmed by the bank", "parcel handed over to the carrier", "customer asked for a refund"}
)

// payload is the n-th value of about size bytes: an event of orders in JSON whose names and words repeat, with ids, amounts
// and times of its own. The same n and size give the same value.
func payload(n, size int) []byte {
	r := rand.New(rand.NewPCG(uint64(size), uint64(n)))
	pick := func(words []string) string { return words[r.IntN(len(words))] }
	b := fmt.Appendf(nil, `{"ts":"2026-03-%02dT%02d:%02d:%02d.%03dZ","level":"%s","service":"%s","order_id":%d,"customer":"c-%06d","status":"%s","total":%d.%02d,"currency":"%s","message":"%s"`,
		1+n/86400%28, n/3600%24, n/60%60, n%60, r.IntN(1000), pick(levels), pick(services), 7_000_000+n, r.IntN(1_000_000), pick(statuses), r.IntN(900), r.IntN(100), pick(currency), pick(summaries))
	if size >= 400 {
		b = fmt.Appendf(b, `,"address":{"city":"%s","zip":"%05d","street":"Main Street %d"}`, pick(cities), r.IntN(100_000), r.IntN(300))
	}
	const tail = len(`]}`)
	b = append(b, `,"items":[`...)
	for i := 0; ; i++ {
		article := r.IntN(5000) // of a catalogue that tells name, price and tax
		item := fmt.Sprintf(`{"sku":"SKU-%05d","name":"%s","quantity":%d,"price":%d.%02d,"tax":"%d%%","warehouse":"%s"}`,
			article, articles[article%len(articles)], 1+r.IntN(9), article%200, article%100, 7+12*(article%2), pick(cities))
		if i > 0 {
			item = "," + item
		}
		if len(b)+len(item)+tail > size {
			break
		}
		b = append(b, item...)
	}
	return append(b, `]}`...)
}
