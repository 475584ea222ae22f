package redisstream

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/korvet-io/korvet/internal/redisstream/resp"
)

// arrivals are ways in which the same bytes arrive: at once, one by one, and cut in two.
func arrivals(data []byte, cut uint16) map[string]io.Reader {
	k := int(cut) % (len(data) + 1)
	return map[string]io.Reader{
		"at once":     bytes.NewReader(data),
		"by the byte": iotest.OneByteReader(bytes.NewReader(data)),
		"in halves":   io.MultiReader(bytes.NewReader(data[:k]), bytes.NewReader(data[k:])),
	}
}

// FuzzEntries reads arbitrary bytes as XRANGE's answer. What comes out must not depend on how the bytes arrive.
func FuzzEntries(f *testing.F) {
	entry := "*2\r\n$4\r\n10-4\r\n*4\r\n$5\r\nvalue\r\n$1\r\nx\r\n$9\r\ntimestamp\r\n$3\r\n123\r\n"
	for _, seed := range []string{
		"*0\r\n", "*1\r\n" + entry, "*2\r\n" + entry + entry, "-ERR no\r\n", "*-1\r\n", "$1\r\n", "*99999\r\n" + entry, "*1\r\n*2\r\n$1\r\nx\r\n*0\r\n",
		"*1\r\n*2\r\n$3\r\n1-1\r\n*-1\r\n", "*1\r\n*2\r\n$3\r\n1-1\r\n*3\r\n$3\r\nkey\r\n$0\r\n\r\n$7\r\nheaders\r\n", "*1\r\n*2\r\n$99999999999\r\n",
		"*1\r\n*2\r\n$42\r\n18446744073709551616-18446744073709551616X\r\n*0\r\n",
	} {
		f.Add([]byte(seed), uint16(7))
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		type answer struct {
			entries []Entry
			page    Page
			rest    int
			bad     bool
		}
		got := map[string]answer{}
		for name, src := range arrivals(data, cut) {
			var k kept
			r := resp.NewReader(src)
			page, err := readEntries(r, &k)
			left, _ := io.ReadAll(src)
			a := answer{k.entries, page, len(r.Buffered()) + len(left), errors.Is(err, resp.ErrProtocol)}
			if err != nil {
				a.rest = 0
			}
			got[name] = a
		}
		for name, a := range got {
			if !reflect.DeepEqual(a, got["at once"]) {
				t.Fatalf("%s: %+v, at once: %+v", name, a, got["at once"])
			}
		}
		for _, e := range got["at once"].entries {
			if n := len(e.Record.Value) + len(e.Record.Key) + len(e.Record.Headers); n > len(data) {
				t.Fatalf("%d bytes gave an entry of %d", len(data), n)
			}
		}
	})
}

// FuzzAppendReply reads arbitrary bytes as the answer to a MULTI of three records. It may be taken as appended only when
// Redis gave three ids, and what it is taken for must not depend on how the bytes arrive.
func FuzzAppendReply(f *testing.F) {
	const queued = "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n"
	id := "$15\r\n1700000000000-7\r\n"
	for _, seed := range []string{
		queued + "*4\r\n" + id + id + id + ":2\r\n", queued + "*4\r\n$-1\r\n$-1\r\n$-1\r\n:2\r\n", queued + "*-1\r\n", queued + "*4\r\n" + id + "-ERR smaller\r\n" + id + ":0\r\n",
		"+OK\r\n-OOM no\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n-EXECABORT Transaction discarded because of previous errors.\r\n",
		queued + "-EXECABORT Transaction discarded because of: MISCONF no\r\n", "-NOPERM no\r\n" + id + id + id + ":2\r\n-ERR EXEC without MULTI\r\n",
		queued + "*4\r\n$1:\r\n1700000000000-7xxxxx\r\n" + id + id + ":2\r\n",
	} {
		f.Add([]byte(seed), uint16(60))
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		got := map[string]string{}
		for name, src := range arrivals(data, cut) {
			calls, outcome := 0, error(nil)
			reply := &appendReply{records: 3, done: func(err error) { calls++; outcome = err }}
			err := reply.Read(resp.NewReader(src))
			if err != nil {
				reply.Lost(err)
			}
			if calls != 1 {
				t.Fatalf("%s: done was called %d times", name, calls)
			}
			refused, isRefused := errors.AsType[*RefusedError](outcome)
			switch {
			case err != nil && !errors.Is(outcome, ErrUnknownOutcome):
				t.Fatalf("%s: the answer cannot be read (%v), but the outcome is %v", name, err, outcome)
			case outcome == nil && bytes.Count(data, []byte("$")) < 3:
				t.Fatalf("%s: appended, without three ids", name)
			case outcome != nil && !isRefused && !errors.Is(outcome, ErrUnknownOutcome):
				t.Fatalf("%s: outcome %v is of no kind", name, outcome)
			case isRefused:
				got[name] = "refused " + refused.Code
			case outcome == nil:
				got[name] = "appended"
			default:
				got[name] = "unknown"
			}
		}
		for name, a := range got {
			if a != got["at once"] {
				t.Fatalf("%s: %s, at once: %s", name, a, got["at once"])
			}
		}
	})
}

// FuzzParseView reads arbitrary texts as the fields that a view is made of.
func FuzzParseView(f *testing.F) {
	f.Add("10-4", "9-3", lifeOne, "1/a", "3", "start", "5", "0", "sealed 0 9 10 20", "0", "18446744073709551615")
	f.Add("x", "y", "", "", "-1", "s:x", "5", "1", "sealed 9 0 10", "2147483648", "-1")
	f.Add("0-0", "1-1", "", "", "", "open", "18446744073709551615", "-9", "sealed -1 9223372036854775807 0 0", "0", "9")
	f.Fuzz(func(t *testing.T, last, noted, topic, owner, epoch, field, value, number, segment, leaderEpoch, before string) {
		str := func(s string) resp.Value { return resp.Value{Kind: '$', Str: s} }
		list := func(s ...string) resp.Value {
			v := resp.Value{Kind: '*'}
			for _, e := range s {
				v.Elems = append(v.Elems, str(e))
			}
			return v
		}
		var v View
		if token, err := v.leader(list(topic, owner, epoch, noted)); err == nil && token != noted {
			t.Fatalf("token %q instead of %q", token, noted)
		}
		v, err := parseView(v, [4]resp.Value{
			str(noted), list("length", "1", "last-generated-id", last),
			list(field, value, "s:"+number, segment), list(leaderEpoch, before),
		})
		if err != nil {
			return
		}
		keys := NewKeys("korvet", "t", 0)
		for _, offset := range []int64{-1, 0, 1, 1 << 62} {
			if i := v.SegmentOf(offset); i >= len(v.Segments) {
				t.Fatalf("segment %d of %d", i, len(v.Segments))
			}
			if v.StreamOf(keys, offset) == "" {
				t.Fatal("a stream without a name")
			}
		}
		if n := len(v.Streams(keys)); n != len(v.Segments)+1 {
			t.Fatalf("%d streams of %d segments", n, len(v.Segments))
		}
	})
}

// FuzzFenced reads arbitrary answers of the fence script.
func FuzzFenced(f *testing.F) {
	f.Add("OK", "5", "18446744073709551615", "8", int64(1), "7", "3", "10-4", int64(0), uint8(10))
	f.Add("HELD", "1/a", "99", "5", int64(0), "", "", "", int64(0), uint8(4))
	f.Add("SUPERSEDED", "1/b", "", "", int64(0), "", "", "", int64(0), uint8(2))
	f.Add("STALE", "", "", "", int64(0), "", "", "", int64(0), uint8(1))
	f.Fuzz(func(t *testing.T, kind, a, b, c string, d int64, e, g, h string, i int64, n uint8) {
		all := []resp.Value{
			{Kind: '$', Str: kind}, {Kind: '$', Str: a}, {Kind: '$', Str: b}, {Kind: '$', Str: c}, {Kind: ':', Int: d},
			{Kind: '$', Str: e}, {Kind: '$', Str: g}, {Kind: '$', Str: h}, {Kind: ':', Int: i}, {Kind: ':', Int: d},
		}
		got, err := parseFenced(resp.Value{Kind: '*', Elems: all[:int(n)%(len(all)+1)]})
		if err == nil && (kind != "OK" || int(n)%(len(all)+1) != len(all)) {
			t.Fatalf("answer %q of %d parts was taken for a fence: %+v", kind, n, got)
		}
	})
}

// FuzzParseID compares the two parsers of ids.
func FuzzParseID(f *testing.F) {
	for _, s := range []string{"0-0", "1700000000000-7", "18446744073709551615-18446744073709551615", "18446744073709551616-0", "-", "1-", "-1", "1-1-1", "+1-1", "1 -1", "00000000000000000000001-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseID(s)
		same, ok := parseIDBytes([]byte(s))
		if ok != (err == nil) || ok && id != same {
			t.Fatalf("%q is %v, %v for one and %v, %v for the other", s, id, err, same, ok)
		}
		if back, err2 := ParseID(id.String()); err == nil && (err2 != nil || back != id) {
			t.Fatalf("%v reads back as %v, %v", id, back, err2)
		}
	})
}

// FuzzParseURI reads arbitrary text as the address of a Redis.
func FuzzParseURI(f *testing.F) {
	for _, s := range []string{
		"redis://localhost", "redis://u:p@h:1/2", "rediss://h", "redis+unix:///tmp/s?db=3", "unix:///s", "redis://[::1]:5", "redis://", "http://x", "redis://h/x", "redis://h/-1", "redis+unix://", "://",
		"redis://user:secret@ho st:6379", "unix:///:",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		o, err := ParseURI(uri)
		if err != nil {
			return
		}
		if o.Address == "" || o.Network == "tcp" && strings.HasSuffix(o.Address, ":") || o.Network != "tcp" && o.Network != "unix" || o.DB < 0 {
			t.Fatalf("%q gave %+v", uri, o)
		}
	})
}
