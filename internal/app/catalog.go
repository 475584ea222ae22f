package app

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/korvet-io/korvet/internal/catalog"
	"github.com/korvet-io/korvet/internal/config"
	"github.com/korvet-io/korvet/internal/remote"
)

// catalog makes the Iceberg REST catalog; nil: none is served.
func (b *Broker) catalog() http.Handler {
	r := &b.cfg.Storage.Remote
	if r.Path == "" || !r.Catalog.Enabled {
		return nil
	}
	s := catalog.Settings{
		Namespace: b.cfg.Namespace, Token: r.Catalog.Token, ReadOnly: r.Catalog.ReadOnly,
		MaxRequestBytes: int64(r.Catalog.MaxRequestBytes), CompareBytes: int64(r.Catalog.CompareBytes), CommitTimeout: r.Catalog.CommitTimeout,
		Vended: vended(r), Committed: b.tableChanged,
	}
	return catalog.Observe(catalog.New(s, b.tier, b.log.With(componentKey, "catalog")), b.metrics)
}

// tableChanged has the consumers of this broker be served by what an engine has made of a table.
func (b *Broker) tableChanged(location string) {
	if p := b.current(); p != nil && p.reader != nil {
		p.reader.Expire(location)
	}
}

// tier is nil until Redis was reached.
func (b *Broker) tier() *remote.Tier {
	if p := b.current(); p != nil {
		return p.tier
	}
	return nil
}

// vended is what engines are told to reach the store, in the words that all of them understand.
func vended(r *config.Remote) map[string]string {
	v := &r.Catalog.Vended
	if !v.Enabled || !strings.HasPrefix(r.Path, "s3:") {
		return nil
	}
	all := map[string]string{"client.region": cmp.Or(r.S3.Region, "us-east-1"), "s3.path-style-access": "false"}
	if r.S3.PathStyle {
		all["s3.path-style-access"] = "true"
	}
	if endpoint := cmp.Or(v.Endpoint, r.S3.Endpoint); endpoint != "" {
		all["s3.endpoint"] = strings.TrimRight(endpoint, "/") + "/" // one engine puts the bucket right behind it
	}
	if v.AccessKeyID != "" {
		all["s3.access-key-id"], all["s3.secret-access-key"] = v.AccessKeyID, v.SecretAccessKey
		all["s3.session-token"] = "" // one engine takes the keys with a token only
	}
	return all
}
