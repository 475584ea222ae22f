package app

import (
	"strings"

	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/iceberg/catalogs"
	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// externalCatalog is the catalog that holds the tables; nil: their folders do. It asks it nothing yet.
func externalCatalog(c *config.Config, objects store.Store) (func(namespace, name string) chain.Catalog, error) {
	k := &c.Storage.Remote.Catalog
	if k.Type == "korvet" {
		return nil, nil
	}
	s := catalogs.Settings{Type: k.Type, URI: k.URI, Timeout: k.Timeout, Properties: map[string]string{}}
	for part := range strings.SplitSeq(k.Properties, ",") {
		if name, value, ok := strings.Cut(part, "="); ok {
			s.Properties[strings.TrimSpace(name)] = value
		}
	}
	held, err := catalogs.Open(s, objects)
	if err != nil {
		return nil, err
	}
	return held.Table, nil
}
