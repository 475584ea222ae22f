package api

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var update = flag.Bool("update", false, "write docs/protocol.md")

const protocolPage = "../../../docs/protocol.md"

// advertised is an API as Apache Kafka advertises it.
type advertised struct {
	key, min, max int16
	name          string
}

func kafkaAdvertises(t *testing.T) []advertised {
	t.Helper()
	raw, err := os.ReadFile("testdata/kafka-4.4-api-versions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []advertised
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var a advertised
		if _, err := fmt.Sscan(lines.Text(), &a.key, &a.name, &a.min, &a.max); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		list = append(list, a)
	}
	return list
}

// TestProtocolPageMatchesTheRoutes keeps the users' page equal to the route table; -update writes it.
func TestProtocolPageMatchesTheRoutes(t *testing.T) {
	want := renderProtocolPage(kafkaAdvertises(t))
	if *update {
		if err := os.WriteFile(protocolPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(protocolPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the routes say: run go test ./internal/kafka/api -update", protocolPage)
	}
}

func renderProtocolPage(kafka []advertised) string {
	var b strings.Builder
	b.WriteString(`# Kafka protocol

<!-- Written by go test ./internal/kafka/api -update from the route table in internal/kafka/api/routes.go. -->

The APIs and versions that korvet serves, beside those that Apache Kafka 4.4 advertises. The same table drives dispatch
and the answer to ApiVersions. Where an API's behaviour differs, the head of its file in internal/kafka/api and
[compatibility.md](compatibility.md) say so.

| key | API | korvet | Kafka 4.4 | difference |
|---|---|---|---|---|
`)
	served := newRoutes()
	var missing []string
	for _, k := range kafka {
		r := served[k.key]
		if r == nil {
			missing = append(missing, fmt.Sprintf("%s (%d)", k.name, k.key))
			continue
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", r.key, r.name, span(r.min, r.max), span(k.min, k.max), difference(r, k))
	}
	b.WriteString(`
A request in another version, or of another API, closes the connection with one log line, as in Kafka. ApiVersions alone
is answered in every version: one that is not served gets UNSUPPORTED_VERSION in the layout of version 0, with the range
that is.

`)
	fmt.Fprintf(&b, "Not served in this version of korvet: %s.\n", strings.Join(missing, ", "))
	return b.String()
}

func difference(r *route, k advertised) string {
	var words []string
	switch {
	case r.key == 0:
		words = append(words, "versions 0 to 2 are served; Kafka only advertises them")
	case r.min < k.min:
		words = append(words, "older clients' "+span(r.min, k.min-1)+" too")
	case r.min > k.min:
		words = append(words, "not "+span(k.min, r.min-1))
	}
	switch {
	case r.max > k.max:
		words = append(words, "newer "+span(k.max+1, r.max)+" too")
	case r.max < k.max:
		words = append(words, "not "+span(r.max+1, k.max))
	}
	return strings.Join(words, "; ")
}

// span is a range of versions as words.
func span(from, to int16) string {
	if from == to {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d to %d", from, to)
}

func TestRoutesAreKafkasOwn(t *testing.T) {
	kafka := kafkaAdvertises(t)
	for key, r := range newRoutes() {
		if r.silent {
			continue
		}
		at := slices.IndexFunc(kafka, func(a advertised) bool { return a.key == key })
		if at < 0 || kafka[at].name != r.name || kafka[at].max < r.max {
			t.Errorf("%s (%d) up to version %d is not Kafka's", r.name, key, r.max)
		}
		if kmsg.RequestForKey(key).MaxVersion() < r.max {
			t.Errorf("%s: kmsg does not know version %d", r.name, r.max)
		}
	}
}

// TestEveryAdvertisedVersionIsServed sends a default request in each version: it is answered, to the last byte in that
// version's layout.
func TestEveryAdvertisedVersionIsServed(t *testing.T) {
	b := newBroker(t, nil)
	resp := do[*kmsg.ApiVersionsResponse](b, apiVersionsRequest(), 3)
	for _, k := range resp.ApiKeys {
		for version := k.MinVersion; version <= k.MaxVersion; version++ {
			req := kmsg.RequestForKey(k.ApiKey)
			req.SetVersion(version)
			if d, ok := req.(interface{ Default() }); ok {
				d.Default()
			}
			if p, ok := req.(*kmsg.ProduceRequest); ok {
				p.Acks = -1
			}
			a := b.await(b.startRequest(req, version))
			if a.err != nil {
				t.Errorf("%s version %d: %v", kmsg.NameForKey(k.ApiKey), version, a.err)
				continue
			}
			b.decode(req, a)
		}
	}
}

func apiVersionsRequest() *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "test", "1.0"
	return req
}
