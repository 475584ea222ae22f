package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/korvet-io/korvet/internal/iceberg/storetest"
	"github.com/korvet-io/korvet/test/harness"
)

// toxicsOfStores leave requests to a store slow, cut, or done and not answered.
var toxicsOfStores = []string{
	`"type":"limit_data","stream":"downstream","attributes":{"bytes":%d}`,
	`"type":"limit_data","stream":"upstream","attributes":{"bytes":%d}`,
	`"type":"reset_peer","stream":"downstream","attributes":{"timeout":%d}`,
	`"type":"timeout","stream":"downstream","attributes":{"timeout":%d}`,
	`"type":"timeout","stream":"upstream","attributes":{"timeout":%d}`,
	`"type":"latency","stream":"downstream","attributes":{"latency":%d}`,
}

// Two brokers and two storage workers share an S3 server whose connections break, while an engine commits to the table through
// the brokers' catalogs and workers and brokers are killed: each record is in the log once and in the table once.
func TestTiersUnderFaultsOfTheStoreAndCommitsOfAnEngine(t *testing.T) {
	server := storetest.Start(t)
	proxy := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "store", "127.0.0.1:0", strings.TrimPrefix(server.Endpoint, "http://"))
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	lake := append(lakeAt(server, "http://"+proxy.Listen), "--korvet.storage.worker.enabled=false")
	w := newWorld(t, harness.Options{Args: append(lake, "--korvet.broker.id=1")})
	second := harness.Start(t, harness.Options{Own: true, Redis: w.redis, Args: append(lake, "--korvet.broker.id=2")})
	w.keepLog("second", second.Logs)
	brokers := []*harness.Broker{w.broker, second}
	err := w.probe().CreateTopic("tiered", 2, map[string]string{
		"remote.storage.enable": "true", "segment.bytes": "1048576", "segment.ms": "700", "local.retention.ms": "1000",
	})
	if err != nil {
		t.Fatal(err)
	}
	var workers []*harness.Worker
	for i := range 2 {
		worker := harness.StartWorker(t, w.redis, append(lakeAt(server, "http://"+proxy.Listen), "--korvet.storage.worker.tick-interval=100ms", "--korvet.storage.worker.lease-duration=300ms")...)
		w.keepLog(fmt.Sprint("worker", i), worker.Logs)
		workers = append(workers, worker)
	}
	l := &ledger{newest: map[string]int{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var busy sync.WaitGroup
	for id := range 2 {
		busy.Go(func() { l.serial(ctx, t, w.broker.Addr, "tiered", id) })
	}
	busy.Go(func() {
		for ctx.Err() == nil {
			requireNoGap(t, seen(t, w.broker.Addr, "tiered"))
		}
	})
	engine := &committer{}
	busy.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			engine.commit(ctx, t, brokers[n%2], n)
		}
	})
	for i := range rounds(len(toxicsOfStores)) {
		toxic := fmt.Sprintf(toxicsOfStores[i%len(toxicsOfStores)], 1+w.rnd.IntN(3000))
		if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(`{"name":"t","toxicity":0.5,` + toxic + `}`)); err != nil {
			t.Fatalf("add %s: %v", toxic, err)
		}
		w.faults++
		w.pass(3 * time.Second)
		switch victim := w.rnd.IntN(4); victim {
		case 0, 1:
			workers[victim].Kill9()
			workers[victim].Launch()
		case 2:
			brokers[i%2].Kill9()
			brokers[i%2].Restart()
		}
		if err := proxy.Toxics.RemoveToxic(context.Background(), "t"); err != nil {
			t.Fatalf("remove %s: %v", toxic, err)
		}
		w.pass(time.Second)
	}
	stop()
	busy.Wait()
	eventually(t, "all records to be in the remote tier alone", func() error { return w.onlyOpenSegments("tiered") })
	l.checkAll(t, seen(t, w.broker.Addr, "tiered"))
	w.requireDocumentedKeys()
	requireWholeTable(t, w, len(l.kept), lakeAt(server, "")...)
	t.Logf("the engine committed %d times and was refused %d times: %v", engine.done, engine.refused, engine.codes)
	if engine.done == 0 {
		t.Error("the engine never committed")
	}
}

// lakeAt are the settings of brokers and workers whose tables are on a server, at its own endpoint or a proxy's.
func lakeAt(s *storetest.Server, endpoint string) []string {
	o := s.Options(endpoint)
	return []string{
		"--korvet.storage.remote.path=" + s.Location() + "/tier", "--korvet.storage.remote.s3.endpoint=" + o.Endpoint, "--korvet.storage.remote.s3.path-style-access=true",
		"--korvet.storage.remote.s3.access-key-id=" + o.AccessKeyID, "--korvet.storage.remote.s3.secret-access-key=" + o.SecretAccessKey, "--korvet.storage.remote.s3.region=" + o.Region,
	}
}

// committer is an engine that sets properties of the table and expires snapshots all the time.
type committer struct {
	done, refused int
	codes         map[int]int
}

func (c *committer) commit(ctx context.Context, t *testing.T, b *harness.Broker, n int) {
	status, body := c.ask(ctx, b, "")
	if status != http.StatusOK {
		return
	}
	var loaded struct {
		Metadata struct {
			UUID      string `json:"table-uuid"`
			Current   int64  `json:"current-snapshot-id"`
			Snapshots []struct {
				ID int64 `json:"snapshot-id"`
			} `json:"snapshots"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &loaded); err != nil {
		t.Errorf("decode a loaded table: %v", err)
		return
	}
	m := &loaded.Metadata
	updates := fmt.Sprintf(`{"action":"set-properties","updates":{"engine.commit":"%d"}}`, n)
	for _, s := range m.Snapshots {
		if s.ID != m.Current && n%5 == 0 {
			updates += fmt.Sprintf(`,{"action":"remove-snapshots","snapshot-ids":[%d]}`, s.ID)
			break
		}
	}
	request := fmt.Sprintf(`{"requirements":[{"type":"assert-table-uuid","uuid":%q}],"updates":[%s]}`, m.UUID, updates)
	switch status, body := c.ask(ctx, b, request); {
	case status == http.StatusOK:
		c.done++
	case status == http.StatusBadRequest:
		t.Errorf("a commit is called bad: %s", body)
	default:
		c.refused++
	}
}

// ask sends a request to the table's address, and tells status 0 when there is no answer.
func (c *committer) ask(ctx context.Context, b *harness.Broker, body string) (int, []byte) {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+b.HTTPAddr+"/iceberg/v1/namespaces/korvet/tables/tiered", strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = answer.Body.Close() }()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, nil
	}
	if c.codes == nil {
		c.codes = map[int]int{}
	}
	c.codes[answer.StatusCode]++
	return answer.StatusCode, got
}
