package demo

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
)

// Event is one thing that happens in the shop, as a record has it.
type Event struct {
	Key     string // the customer
	Value   []byte // JSON
	Headers [][2]string
}

// Shop makes up events of customers who look at pages, fill carts, order and pay. It is not safe for concurrent use.
type Shop struct {
	random    *rand.Rand
	customers []customer
	orders    int64
}

// customer is somebody on the way from a page to a payment.
type customer struct {
	id      string
	country string
	session string
	cart    []line
	order   string
	owed    int64 // cents; not 0 between an order and its payment
}

type line struct {
	SKU      string `json:"sku"`
	Name     string `json:"name"`
	Quantity int    `json:"quantity"`
	Cents    int64  `json:"price_cents"`
}

// event is an event's JSON.
type event struct {
	Type     string `json:"type"`
	ID       string `json:"id"`
	Time     string `json:"time"`
	Customer string `json:"customer"`
	Session  string `json:"session"`
	Country  string `json:"country"`
	Page     string `json:"page,omitempty"`
	Referrer string `json:"referrer,omitempty"`
	Action   string `json:"action,omitempty"`
	Item     *line  `json:"item,omitempty"`
	Order    string `json:"order,omitempty"`
	Lines    []line `json:"lines,omitempty"`
	Total    int64  `json:"total_cents,omitempty"`
	Currency string `json:"currency,omitempty"`
	Method   string `json:"method,omitempty"`
	Status   string `json:"status,omitempty"`
}

var (
	products = []line{
		{"SKU-1001", "Espresso machine", 1, 24900}, {"SKU-1002", "Coffee grinder", 1, 8900}, {"SKU-1003", "Milk jug", 1, 1290},
		{"SKU-2001", "Running shoes", 1, 11900}, {"SKU-2002", "Rain jacket", 1, 15900}, {"SKU-2003", "Wool socks", 3, 990},
		{"SKU-3001", "Desk lamp", 1, 4590}, {"SKU-3002", "Notebook, dotted", 5, 690}, {"SKU-3003", "Fountain pen", 1, 3490},
	}
	countries = []string{"DE", "FR", "US", "GB", "JP", "BR", "IN", "SE"}
	referrers = []string{"", "search", "newsletter", "social"}
	devices   = []string{"web", "ios", "android"}
	methods   = []string{"card", "invoice", "wallet"}
)

// NewShop makes a shop whose customers are drawn with the given randomness.
func NewShop(random *rand.Rand) *Shop {
	s := &Shop{random: random, customers: make([]customer, 500)}
	for i := range s.customers {
		s.customers[i] = customer{id: fmt.Sprintf("customer-%04d", i+1), country: pick(s.random, countries)}
		s.newSession(&s.customers[i])
	}
	return s
}

// Next makes up the next event.
func (s *Shop) Next(now time.Time) Event {
	c := &s.customers[s.random.IntN(len(s.customers))]
	e := event{
		ID:       fmt.Sprintf("%016x", s.random.Uint64()),
		Time:     now.UTC().Format(time.RFC3339Nano),
		Customer: c.id,
		Session:  c.session,
		Country:  c.country,
	}
	switch chance := s.random.IntN(100); {
	case c.owed > 0:
		s.pay(c, &e)
	case len(c.cart) > 0 && chance < 30:
		s.order(c, &e)
	case chance < 60:
		s.view(&e)
	default:
		s.fillCart(c, &e)
	}
	value, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("demo: encode event: %v", err)) // the type has nothing that cannot be encoded
	}
	return Event{Key: c.id, Value: value, Headers: [][2]string{{"type", e.Type}, {"source", pick(s.random, devices)}}}
}

func (s *Shop) view(e *event) {
	e.Type = "page_view"
	e.Page = "/products/" + pick(s.random, products).SKU
	e.Referrer = pick(s.random, referrers)
}

func (s *Shop) fillCart(c *customer, e *event) {
	e.Type, e.Action = "cart", "add"
	item := pick(s.random, products)
	item.Quantity = 1 + s.random.IntN(item.Quantity)
	if len(c.cart) >= 5 {
		e.Action, item = "remove", c.cart[0]
		c.cart = c.cart[1:]
	} else {
		c.cart = append(c.cart, item)
	}
	e.Item = &item
}

func (s *Shop) order(c *customer, e *event) {
	s.orders++
	c.order = fmt.Sprintf("order-%06d", s.orders)
	for _, l := range c.cart {
		c.owed += l.Cents * int64(l.Quantity)
	}
	e.Type, e.Order, e.Lines, e.Total, e.Currency = "order", c.order, c.cart, c.owed, "EUR"
	c.cart = nil
}

func (s *Shop) pay(c *customer, e *event) {
	e.Type, e.Order, e.Total, e.Currency, e.Method, e.Status = "payment", c.order, c.owed, "EUR", pick(s.random, methods), "captured"
	if s.random.IntN(20) == 0 {
		e.Status = "declined" // and tried again later
		return
	}
	c.owed, c.order = 0, ""
	s.newSession(c)
}

func (s *Shop) newSession(c *customer) { c.session = fmt.Sprintf("%08x", s.random.Uint32()) }

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }
