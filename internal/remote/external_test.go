package remote

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/korvet-io/korvet/internal/iceberg/catalogs"
	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/metadata"
)

// lookUp discovers the tables of a place.
func (p *place) lookUp() (names []string) {
	p.Helper()
	if err := Discover(p.Context(), p.tier.Settings, p.tier.Store, func(f *Found) error {
		names = append(names, f.Location[len("file://"+p.dir+"/korvet/"):])
		return f.Err
	}); err != nil {
		p.Fatal(err)
	}
	return names
}

// What another catalog holds is found through it, and leaves it with the topic: else a topic that is made anew under the name could
// never have a table.
func TestATableOfAnotherCatalogIsFoundAndDropped(t *testing.T) {
	p := newPlace(t)
	held, err := catalogs.Open(catalogs.Settings{Type: "sql", URI: "sqlite://" + t.TempDir() + "/catalog.db"}, p.tier.Store)
	if err != nil {
		t.Fatal(err)
	}
	p.tier.Catalog = held.Table
	p.tier.Path = "file://" + p.dir
	e, _ := p.table("orders")
	if got := p.lookUp(); len(got) != 1 || got[0] != "orders" {
		t.Fatalf("found %v", got)
	}
	later := e
	later.TopicID, later.Location = uuid.New(), e.Location+"-2"
	topic := &metadata.Topic{Name: "orders", ID: later.TopicID, Partitions: 1}
	if err := CreateTable(t.Context(), p.tier.Table(later), topic); err == nil {
		t.Error("two lives have one entry")
	}
	for range 2 {
		if err := p.tier.Clear(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.tier.Table(e).State(t.Context()); !errors.Is(err, chain.ErrNoTable) {
		t.Errorf("after its deletion: %v, want ErrNoTable", err)
	}
	if err := CreateTable(t.Context(), p.tier.Table(later), topic); err != nil {
		t.Fatalf("a later life: %v", err)
	}
	if err := p.tier.Clear(t.Context(), e); err != nil { // once more, as after a crash
		t.Fatal(err)
	}
	if got := p.lookUp(); len(got) != 1 || got[0] != "orders-2" {
		t.Errorf("found %v", got)
	}
}
