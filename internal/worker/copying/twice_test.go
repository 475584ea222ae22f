package copying_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	objectstore "github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/worker/tiertest"
	"github.com/korvet-io/korvet/internal/worker/workertest"
)

// afterData is a store that calls something once it has a data file, before whoever put it is answered.
type afterData struct {
	objectstore.Store
	then func()
}

func (a *afterData) Put(ctx context.Context, location string, body io.Reader) error {
	err := a.Store.Put(ctx, location, body)
	if strings.HasSuffix(location, ".parquet") {
		a.then()
	}
	return err
}

// dataFiles are the data files below the rig's directory, by path: those in a table and those in none.
func dataFiles(c *tiertest.Rig) map[string][]byte {
	c.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(strings.TrimPrefix(c.Root, "file://"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".parquet") {
			all[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		c.Fatal(err)
	}
	return all
}

// A worker whose process ends after a data file was put, before it is in the table, leaves it there. The next one begins at the same
// offset, and its file has another name: neither is written over, the table has one of them, and the other goes once it is old enough.
func TestTwoCopiesOfTheSameRangeHaveDifferentNames(t *testing.T) {
	for name, more := range map[string]int{"of the same records": 0, "of more records since": 20} {
		t.Run(name, func(t *testing.T) {
			c := tiertest.New(t)
			p := c.Tiered("t", nil)
			p.AddSealed(40, time.Hour, 50)
			m := c.Mortal(tiertest.Never, tiertest.Never, storetest.Before)
			m.Storage.Copier.Tables = c.TablesOn(&afterData{m.Store, func() {
				m.Store.Limit(0, storetest.Before, nil)
				m.Fuse.Blow()
			}})
			_ = m.Storage.RunOnce(t.Context()) // it dies in it
			left := dataFiles(c)
			if files, state := c.Files(p); len(left) != 1 || len(files) != 0 || state.Ends[0] != 0 {
				t.Fatalf("the worker that died left %d data files, the table has %d up to %d", len(left), len(files), state.Ends[0])
			}
			if more > 0 {
				p.AddSealed(more, time.Hour, 50)
			}
			c.Storage.Gone = func(string) bool { return true }
			c.Tick()
			c.Tick()
			c.Holds(p, 0, p.Next)
			p.Places(0, 0, p.Next)
			files, _ := c.Files(p)
			all := dataFiles(c)
			if len(files) != 1 || len(all) != 2 {
				t.Fatalf("the table has %d data files of %d", len(files), len(all))
			}
			for path, body := range left {
				if "file://"+path == files[0].Location || !bytes.Equal(all[path], body) {
					t.Errorf("%s, which was left, was written over", path)
				}
				sweptWhenOld(c, p, path)
			}
			c.Holds(p, 0, p.Next)
		})
	}
}

// sweptWhenOld checks that a data file which is in no table is deleted once it is older than the safe age, and is the only one.
func sweptWhenOld(c *tiertest.Rig, p *workertest.Part, path string) {
	c.Helper()
	table := c.Opened(p)
	_, state := c.Files(p)
	if swept, err := table.Sweep(c.Context(), state.Fence, time.Hour); err != nil || swept.Orphans != 0 {
		c.Errorf("swept before its age: %+v, %v", swept, err)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		c.Fatal(err)
	}
	if swept, err := table.Sweep(c.Context(), state.Fence, time.Hour); err != nil || swept.Orphans != 1 {
		c.Errorf("swept %+v, %v", swept, err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		c.Errorf("%s is there: %v", path, err)
	}
}
