package catalog

import (
	"net/http"
	"strings"

	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/remote"
)

// tables returns the tier; an error until it is known.
func (c *Catalog) tables() (*remote.Tier, error) {
	if t := c.tier(); t != nil {
		return t, nil
	}
	return nil, problem{http.StatusServiceUnavailable, "ServiceUnavailableException", "the broker is starting: it does not know its tables yet"}
}

// inNamespace is an error unless a name is that of the namespace. Some engines put all names in lower case. A name of several
// levels, as engines send it to look for a table's metadata tables, is one that does not exist.
func (c *Catalog) inNamespace(name string) error {
	if strings.EqualFold(name, c.settings.Namespace) {
		return nil
	}
	return noNamespace(strings.ReplaceAll(name, "\x1f", "."))
}

// list is the tables that are to be seen.
func (c *Catalog) list() (*remote.Tier, []metadata.Table, error) {
	tier, err := c.tables()
	if err != nil {
		return nil, nil, err
	}
	return tier, tier.Registry.Tables(), nil
}

// find looks a table up: by its name, else by that of its topic, else by its name in any case. In a namespace that is not there
// it is the table that is not there: Java clients look for a table's metadata tables (korvet.events.files) only after that.
func (c *Catalog) find(namespace, name string) (*remote.Tier, metadata.Table, error) {
	if c.inNamespace(namespace) != nil {
		return nil, metadata.Table{}, noTable(strings.ReplaceAll(namespace, "\x1f", ".") + "." + name)
	}
	tier, list, err := c.list()
	if err != nil {
		return nil, metadata.Table{}, err
	}
	for _, is := range []func(metadata.Table) bool{
		func(t metadata.Table) bool { return t.Name == name },
		func(t metadata.Table) bool { return t.Topic == name },
		func(t metadata.Table) bool { return strings.EqualFold(t.Name, name) },
	} {
		var found []metadata.Table
		for _, t := range list {
			if is(t) {
				found = append(found, t)
			}
		}
		if len(found) == 1 {
			return tier, found[0], nil
		}
	}
	return nil, metadata.Table{}, noTable(namespace + "." + name)
}
