package readers_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/korvet-io/korvet/internal/iceberg/catalogs"
	"github.com/korvet-io/korvet/internal/iceberg/chain"
	"github.com/korvet-io/korvet/internal/iceberg/store"
	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/internal/iceberg/tables"
	"github.com/korvet-io/korvet/test/harness"
)

// foreign is a catalog that is not korvet's, in a process that can be taken away.
type foreign struct {
	t       *testing.T
	kind    string // of korvet.storage.remote.catalog.type
	uri     string
	address string
	command func() *exec.Cmd
	running *exec.Cmd
	log     string // file
	place
}

// place is where tables are.
type place struct {
	path string // of the tier
	args []string
	s3   store.S3
}

func port(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// restCatalog is Apache Iceberg's REST server before a database in a file. Its variables are properties: _ is a dot, __ a hyphen.
func restCatalog(t *testing.T, at place) *foreign {
	home, dir, p := install(t, "rest"), t.TempDir(), port(t)
	return &foreign{t: t, kind: "rest", uri: "http://127.0.0.1:" + p, address: "127.0.0.1:" + p, log: filepath.Join(dir, "log"), place: at, command: func() *exec.Cmd {
		c := exec.Command("java", "-Xmx256m", "-cp", filepath.Join(home, "rest", "*"), "org.apache.iceberg.rest.RESTCatalogServer")
		c.Env = append(os.Environ(), "CATALOG_URI=jdbc:sqlite:file:"+dir+"/catalog.db", "CATALOG_WAREHOUSE="+at.path, "CATALOG_JDBC_USER=u", "CATALOG_JDBC_PASSWORD=p", "CATALOG_CLIENTS=1", "CATALOG_REST_PORT="+p) // SQLite refuses one of two connections that write
		if at.s3.Endpoint != "" {
			c.Env = append(c.Env, "CATALOG_IO__IMPL=org.apache.iceberg.aws.s3.S3FileIO", "CATALOG_S3_ENDPOINT="+at.s3.Endpoint, "CATALOG_S3_PATH__STYLE__ACCESS=true",
				"CATALOG_S3_ACCESS__KEY__ID="+at.s3.AccessKeyID, "CATALOG_S3_SECRET__ACCESS__KEY="+at.s3.SecretAccessKey, "CATALOG_CLIENT_REGION="+at.s3.Region)
		}
		return c
	}}
}

// up starts the catalog and waits until it takes connections.
func (f *foreign) up() {
	f.t.Helper()
	log, err := os.OpenFile(f.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	c := f.command()
	c.Stdout, c.Stderr, c.SysProcAttr = log, log, harness.EndWithParent()
	if err := c.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.running = c
	eventually(f.t, func() error {
		conn, err := net.Dial("tcp", f.address)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
}

// down kills the catalog.
func (f *foreign) down() {
	if f.running != nil {
		_ = f.running.Process.Kill()
		_ = f.running.Wait()
		f.running = nil
	}
}

// objects is the store of the tables.
func (f *foreign) objects() store.Store {
	f.t.Helper()
	objects, err := store.Open(f.t.Context(), f.path, f.s3)
	if err != nil {
		f.t.Fatal(err)
	}
	return objects
}

// table is the topic's table through the catalog, beside the broker, with a clock that is put forward.
func (f *foreign) table(location string, skew *time.Duration) *tables.Table {
	f.t.Helper()
	objects := f.objects()
	c, err := catalogs.Open(catalogs.Settings{Type: f.kind, URI: f.uri}, objects)
	if err != nil {
		f.t.Fatal(err)
	}
	now := func() time.Time { return time.Now().Add(*skew) }
	return tables.Open(&chain.Chain{Store: objects, Hint: chain.NoHint{}, Location: location, Now: now, Catalog: c.Table("korvet", table)}, "korvet", table)
}

func TestTablesInARESTCatalog(t *testing.T) {
	if !long() {
		return
	}
	t.Run("file", func(t *testing.T) {
		f := restCatalog(t, place{path: "file://" + t.TempDir()})
		f.serves(t, "duckdb", engineSettings{URI: f.uri})
	})
	t.Run("s3", func(t *testing.T) {
		server := storetest.Start(t)
		f := restCatalog(t, place{path: server.Location() + "/tier", args: onStore(server), s3: server.Options("")})
		f.serves(t, "duckdb", engineSettings{URI: f.uri, S3: &keys{Endpoint: server.Endpoint, ID: storetest.WriterKeyID, Secret: storetest.WriterSecret}})
	})
}

// serves has the catalog hold a broker's tables for all of their life: copied, read by consumers and an engine, with another who commits
// beside, with the catalog away, cleaned, recovered after Redis was lost, deleted.
func (f *foreign) serves(t *testing.T, engine string, s engineSettings) {
	f.up()
	t.Cleanup(f.down)
	t.Cleanup(func() {
		if said, err := os.ReadFile(f.log); t.Failed() && err == nil {
			t.Logf("the catalog said: %s", said[max(0, len(said)-4000):])
		}
	})
	w := newWorld(t, f.path, "", append(f.args, "--korvet.storage.remote.catalog.type="+f.kind, "--korvet.storage.remote.catalog.uri="+f.uri, "--korvet.storage.remote.catalog.request-timeout=20s")...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.broker.Logs())
		}
	})
	w.produce(w.maker.make(600))
	location := w.awaitCopied().location
	skew := time.Duration(0)
	tb := f.table(location, &skew)
	f.besideAnother(t, w, tb)
	f.away(t, w)
	s.Home = install(t, "engines")
	e := newEngine(t, engine, s)
	if d := e.do(t, "read", map[string]any{"table": table, "snapshot": nil}).differs(w.below(w.ends())); d != "" {
		t.Errorf("%s: %s", engine, d)
	}
	w.awaitConsumed(t)
	f.cleaned(t, w, tb, &skew)
	f.recovered(t, w)
	if _, err := w.admin.DeleteTopic(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if _, err := f.table(location, &skew).State(t.Context()); err == nil || !strings.Contains(err.Error(), chain.ErrNoTable.Error()) {
			return fmt.Errorf("the catalog has the table: %v", err)
		}
		if left, err := f.objects().Folders(t.Context(), f.path+"/korvet/"); err != nil || len(left) > 0 {
			return fmt.Errorf("%v are left, %v", left, err)
		}
		return nil
	})
}

// besideAnother has another writer commit to the table while records are copied.
func (f *foreign) besideAnother(t *testing.T, w *world, tb *tables.Table) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		taken := 0
		for {
			select {
			case <-stop:
				done <- taken
				return
			default:
			}
			s, err := tb.State(t.Context())
			if err == nil {
				_, err = tb.SetProperties(t.Context(), s, map[string]string{"beside": strconv.Itoa(taken)})
			}
			if err == nil {
				taken++
			}
			<-time.After(50 * time.Millisecond)
		}
	}()
	for range 3 {
		w.produce(w.maker.make(100))
		w.awaitCopied()
	}
	close(stop)
	if taken := <-done; taken == 0 {
		t.Error("the other writer committed nothing")
	}
}

// away has the catalog be away for a while.
func (f *foreign) away(t *testing.T, w *world) {
	t.Helper()
	f.down()
	w.produce(w.maker.make(300))
	eventually(t, func() error {
		for _, operation := range []string{"table", "commit"} {
			if _, text := w.broker.Get("/metrics"); !strings.Contains(text, `korvet_storage_archive_failures_total{operation="`+operation+`"} 0`+"\n") {
				return nil
			}
		}
		return fmt.Errorf("no metric tells that copying fails")
	})
	f.up()
	w.awaitCopied()
}

// cleaned takes away what total retention has removed, with a clock that is a week ahead.
func (f *foreign) cleaned(t *testing.T, w *world, tb *tables.Table, skew *time.Duration) {
	t.Helper()
	s, err := tb.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, err := tb.Files(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	start := files.Data[0][0].Last + 1
	w.trim(t, start)
	w.remove(0, 0, start)
	eventually(t, func() (err error) {
		if s, err = tb.State(t.Context()); err == nil {
			files, err = tb.Files(t.Context(), s)
		}
		if err == nil && files.Data[0][0].First < start {
			err = fmt.Errorf("the table still has what was trimmed")
		}
		return err
	})
	eventually(t, func() error { // the broker commits, too

		if s, err = tb.State(t.Context()); err == nil {
			_, _, err = tb.Expire(t.Context(), s, s.Fence, tables.Rules{MinCount: 1, MaxCount: 1})
		}
		return err
	})
	versions := 0
	if long() {
		versions = 110 // the newest hundred stay
	}
	for i := range versions {
		eventually(t, func() error {
			if s, err = tb.State(t.Context()); err == nil {
				_, err = tb.SetProperties(t.Context(), s, map[string]string{"n": strconv.Itoa(i)})
			}
			return err
		})
	}
	left := s.Location() + "/data/left.parquet"
	if err := f.objects().Put(t.Context(), left, strings.NewReader("left")); err != nil {
		t.Fatal(err)
	}
	*skew = 7 * 24 * time.Hour
	if r, err := tb.Reclaim(t.Context(), s.Fence); err != nil || long() && (r.Files == 0 || r.Versions == 0) {
		t.Errorf("reclaimed %+v, %v", r, err)
	}
	if r, err := tb.Sweep(t.Context(), s.Fence, 72*time.Hour); err != nil || r.Orphans == 0 {
		t.Errorf("swept %+v, %v", r, err)
	}
	*skew = 0
	if _, err := f.objects().Size(t.Context(), left); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a file that nothing names: %v", err)
	}
	w.awaitConsumed(t)
	harness.Command(t, append([]string{"tables", "verify", topic, "--redis-uri", "redis://" + w.broker.RedisAddr}, w.args...)...)
	for _, look := range []string{"list", "describe " + topic} {
		if said := harness.Command(t, append(append([]string{"tables"}, strings.Fields(look)...), append(w.args, "--redis-uri", "redis://"+w.broker.RedisAddr)...)...); !strings.Contains(said, table) {
			t.Errorf("tables %s says %s", look, said)
		}
	}
}

// recovered loses Redis.
func (f *foreign) recovered(t *testing.T, w *world) {
	t.Helper()
	w.produce(w.maker.make(100))
	w.awaitCopied()
	w.awaitConsumed(t)
	w.broker.Stop()
	w.broker.Redis.Do("FLUSHALL")
	args := append([]string{"recover", "--redis-uri", "redis://" + w.broker.RedisAddr}, w.args...)
	harness.Command(t, args...)
	w.broker.Restart()
	w.awaitConsumed(t)
	w.produce(w.maker.make(100))
	w.awaitCopied()
	w.awaitConsumed(t)
}

// trim raises the log start of partition 0.
func (w *world) trim(t *testing.T, start int64) {
	t.Helper()
	answer, err := w.admin.DeleteRecords(t.Context(), kadm.Offsets{topic: {0: kadm.Offset{Topic: topic, At: start}}})
	if err == nil {
		err = answer.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
}
