// Package chain keeps a table's metadata files: v1.metadata.json, v2.metadata.json, ... in the table's metadata folder. The
// file with the highest number is the table. Writing a number that nobody wrote yet (put-if-absent) is the commit point:
// whoever comes second read an older table than the first one's, and has to read again.
//
// The names and version-hint.text are those of Iceberg's HadoopTables, so that engines open a table by its path alone.
package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// Errors of a chain. A commit that ends with another error may have happened: read the current version and plan again.
var (
	ErrNoTable  = errors.New("no such table")
	ErrConflict = errors.New("the table was changed meanwhile") // nothing was written
	ErrStale    = errors.New("the table was read too long ago") // nothing was written
	ErrCorrupt  = errors.New("corrupt metadata of a table")     // a metadata file, a manifest or a manifest list
)

const (
	// maxAge bounds the time between the reading of a version and a commit on it. It is far below keep: a committer that
	// slept cannot write a number that was freed meanwhile.
	maxAge = 10 * time.Minute
	// keep is how long metadata files stay after newer ones were written.
	keep = 24 * time.Hour
)

// Hint remembers about which version is the newest, so that it is found without a listing. It may be wrong.
type Hint interface {
	Load(ctx context.Context, location string) (int64, error) // 0: not known
	Store(ctx context.Context, location string, number int64) error
}

// NoHint remembers nothing: the newest version is found by the hint file or by a listing.
type NoHint struct{}

// Load implements Hint.
func (NoHint) Load(context.Context, string) (int64, error) { return 0, nil }

// Store implements Hint.
func (NoHint) Store(context.Context, string, int64) error { return nil }

// Chain is the metadata of one table. It is safe for concurrent use.
type Chain struct {
	Store    store.Store
	Hint     Hint
	Location string           // of the table, without a slash at its end
	Now      func() time.Time // the clock that is compared with the store's times
	Catalog  Catalog          // that holds the table instead; nil: none
	Cache    *Cache           // of metadata files; nil: none

	recent recent
}

// Version is one state of the table.
type Version struct {
	Number   int64
	Location string
	Raw      []byte // the metadata file
	Metadata table.Metadata
	read     time.Time
	unseen   bool // the store was not asked for it then
}

func (c *Chain) folder() string { return c.Location + "/metadata/" }

func (c *Chain) location(number int64) string {
	return c.folder() + "v" + strconv.FormatInt(number, 10) + ".metadata.json"
}

func (c *Chain) hintFile() string { return c.folder() + "version-hint.text" }

// numberOf reads a metadata file's number from its location.
func (c *Chain) numberOf(location string) (int64, bool) {
	name, below := strings.CutPrefix(location, c.folder())
	name, begins := strings.CutPrefix(name, "v")
	name, ends := strings.CutSuffix(name, ".metadata.json")
	n, err := strconv.ParseInt(name, 10, 64)
	return n, below && begins && ends && err == nil && n > 0
}

// Current reads the newest version.
func (c *Chain) Current(ctx context.Context) (*Version, error) {
	if c.Catalog != nil {
		return c.currentOf(ctx)
	}
	began := c.Now()
	hint, _ := c.Hint.Load(ctx, c.Location) // without it the table is found, too
	known := hint
	if known <= 0 {
		known = c.readHintFile(ctx)
	}
	newest, err := c.climb(ctx, max(known, 1))
	if errors.Is(err, store.ErrNotFound) { // the hint is wrong: a table that is gone, or numbers that are
		if known, err = c.listed(ctx); err == nil {
			newest, err = c.climb(ctx, known)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("find table's metadata: %w", err)
	}
	newest.read = began
	if newest.Number != hint {
		_ = c.Hint.Store(ctx, c.Location, newest.Number)
	}
	if newest.Metadata == nil {
		if newest.Metadata, err = parse(newest); err != nil {
			return nil, err
		}
		c.Cache.put(newest)
	}
	c.recent.saw(newest, began)
	return newest, nil
}

// climb reads a version and those after it.
func (c *Chain) climb(ctx context.Context, number int64) (*Version, error) {
	var newest *Version
	for ; ; number++ {
		v, err := c.read(ctx, number)
		if errors.Is(err, store.ErrNotFound) && newest != nil {
			return newest, nil
		}
		if err != nil {
			return nil, err
		}
		newest = v
	}
}

// read reads a version, or sees that the one in the cache is still there. Its metadata may not be parsed.
func (c *Chain) read(ctx context.Context, number int64) (*Version, error) {
	location := c.location(number)
	if v := c.Cache.get(location); v != nil {
		if size, err := c.Store.Size(ctx, location); err == nil && size == int64(len(v.Raw)) {
			return v, nil
		}
	}
	raw, err := c.Store.Read(ctx, location)
	if err != nil {
		return nil, err
	}
	return &Version{Number: number, Location: location, Raw: raw}, nil
}

func (c *Chain) readHintFile(ctx context.Context) int64 {
	raw, err := c.Store.Read(ctx, c.hintFile())
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(raw)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// listed finds the highest number by listing the metadata folder.
func (c *Chain) listed(ctx context.Context) (int64, error) {
	highest := int64(0)
	err := c.Store.List(ctx, c.folder(), func(o store.Object) error {
		if n, ok := c.numberOf(o.Location); ok {
			highest = max(highest, n)
		}
		return nil
	})
	if err == nil && highest == 0 {
		err = ErrNoTable
	}
	return highest, err
}

// Create writes the first version of a table. ErrConflict: there is one.
func (c *Chain) Create(ctx context.Context, m table.Metadata) (*Version, error) {
	if c.Catalog != nil {
		m, location, err := c.Catalog.Create(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("create table in catalog: %w", err)
		}
		return external(m, location)
	}
	return c.put(ctx, 1, m)
}

// Commit writes the version after base.
func (c *Chain) Commit(ctx context.Context, base *Version, m table.Metadata) (*Version, error) {
	v, err := c.commit(ctx, base, m)
	if err != nil {
		c.recent.forget()
	}
	return v, err
}

func (c *Chain) commit(ctx context.Context, base *Version, m table.Metadata) (*Version, error) {
	if err := c.seen(ctx, base); err != nil {
		return nil, err
	}
	if _, err := c.Store.Size(ctx, c.location(base.Number+1)); err == nil {
		return nil, ErrConflict
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("commit to table: %w: %w", ErrConflict, err) // nothing was sent
	}
	if c.Now().Sub(base.read) > maxAge {
		return nil, ErrStale
	}
	return c.put(ctx, base.Number+1, m)
}

// put writes a version. A store that wrote it but did not answer says at the second try that it exists: it is then
// compared.
func (c *Chain) put(ctx context.Context, number int64, m table.Metadata) (*Version, error) {
	began := c.Now()
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write table's metadata: %w", err)
	}
	v := &Version{Number: number, Location: c.location(number), Raw: raw, Metadata: m, read: began}
	err = c.Store.PutIfAbsent(ctx, v.Location, raw)
	if errors.Is(err, store.ErrExists) {
		there, readErr := c.Store.Read(ctx, v.Location)
		switch {
		case readErr != nil:
			return nil, fmt.Errorf("read metadata that exists: %w", readErr)
		case !bytes.Equal(there, raw):
			return nil, ErrConflict
		}
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("write table's metadata: %w", err)
	}
	c.Cache.put(v)
	c.recent.saw(v, began)
	_ = c.Hint.Store(ctx, c.Location, number)
	_ = c.Store.Put(ctx, c.hintFile(), strings.NewReader(strconv.FormatInt(number, 10))) // for those who open by path
	return v, nil
}
