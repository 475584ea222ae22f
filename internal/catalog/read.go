package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
)

// getConfig tells clients what they may ask for. Any warehouse will do.
func (c *Catalog) getConfig(q *call) error {
	endpoints := announced
	if c.settings.ReadOnly {
		endpoints = slices.DeleteFunc(slices.Clone(endpoints), func(e string) bool { return e == commitEndpoint })
	}
	return q.answer(map[string]any{"defaults": map[string]string{}, "overrides": map[string]string{}, "endpoints": endpoints})
}

func (c *Catalog) listNamespaces(q *call) error {
	list := [][]string{}
	if parent := q.r.URL.Query().Get("parent"); parent == "" {
		list = append(list, []string{c.settings.Namespace})
	} else if err := c.inNamespace(parent); err != nil {
		return err
	}
	return q.answer(map[string]any{"namespaces": list})
}

func (c *Catalog) getNamespace(q *call) error {
	if err := c.inNamespace(q.names[0]); err != nil {
		return err
	}
	return q.answer(map[string]any{"namespace": []string{c.settings.Namespace}, "properties": map[string]string{}})
}

func (c *Catalog) headNamespace(q *call) error {
	if err := c.inNamespace(q.names[0]); err != nil {
		return err
	}
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}

// identifier names a table.
type identifier struct {
	Namespace []string `json:"namespace"`
	Name      string   `json:"name"`
}

// listTables lists tables by name, in pages where a client wants them: a page's token is the last name of the one before.
func (c *Catalog) listTables(q *call) error {
	if err := c.inNamespace(q.names[0]); err != nil {
		return err
	}
	_, list, err := c.list()
	if err != nil {
		return err
	}
	query := q.r.URL.Query()
	size := len(list)
	if text := query.Get("pageSize"); text != "" {
		if size, err = strconv.Atoi(text); err != nil || size < 1 {
			return badRequest("pageSize must be a number above 0")
		}
	}
	names := []identifier{}
	for _, t := range list {
		names = append(names, identifier{Namespace: []string{c.settings.Namespace}, Name: t.Name})
	}
	slices.SortFunc(names, func(a, b identifier) int { return strings.Compare(a.Name, b.Name) })
	if after := query.Get("pageToken"); after != "" {
		names = slices.DeleteFunc(names, func(n identifier) bool { return n.Name <= after })
	}
	page := map[string]any{"identifiers": names[:min(size, len(names))]}
	if size < len(names) {
		page["next-page-token"] = names[size-1].Name
	}
	return q.answer(page)
}

// state reads the newest state of the table that a request names.
func (c *Catalog) state(q *call) (*tables.State, error) {
	tier, entry, err := c.find(q.names[0], q.names[1])
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(q.r.Context(), readTimeout)
	defer cancel()
	return tier.Table(entry).State(ctx)
}

// loadTable answers with the table's metadata file as it is, all snapshots of it whichever were asked for.
func (c *Catalog) loadTable(q *call) error {
	s, err := c.state(q)
	if err != nil {
		return err
	}
	tag := c.tag(s)
	q.w.Header().Set("ETag", tag)
	if unchanged(q.r.Header.Values("If-None-Match"), tag) {
		q.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return q.write(tableBody(s, c.config))
}

func (c *Catalog) headTable(q *call) error {
	if _, err := c.state(q); err != nil {
		return err
	}
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}

// tableBody puts a table's metadata file into an answer. Without config it is a commit's.
func tableBody(s *tables.State, config []byte) []byte {
	location, err := json.Marshal(s.MetadataLocation())
	if err != nil {
		panic("catalog: " + err.Error()) // no text fails
	}
	body := slices.Concat([]byte(`{"metadata-location":`), location, []byte(`,"metadata":`), s.Raw())
	if config != nil {
		body = slices.Concat(body, []byte(`,"config":`), config)
	}
	return append(body, '}')
}

// tag stands for an answer to loadTable: metadata files never change.
func (c *Catalog) tag(s *tables.State) string {
	sum := sha256.Sum256(slices.Concat([]byte(s.MetadataLocation()), []byte{0}, c.config))
	return `W/"` + hex.EncodeToString(sum[:16]) + `"`
}

func unchanged(known []string, tag string) bool {
	for _, list := range known {
		for one := range strings.SplitSeq(list, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
				return true
			}
		}
	}
	return false
}
