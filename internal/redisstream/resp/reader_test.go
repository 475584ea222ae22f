package resp

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReaderRefusesWhatIsBeyondItsLimits(t *testing.T) {
	for name, reply := range map[string]string{
		"a bulk string of 64 MiB and one byte": "$67108865\r\n",
		"an array of 2^20 and one elements":    "*1048577\r\n",
		"arrays nested nine deep":              strings.Repeat("*1\r\n", 9) + ":1\r\n",
		"a line of 100 KB":                     "+" + strings.Repeat("x", 100_000) + "\r\n",
		"a number of 19 digits":                ":1234567890123456789\r\n",
	} {
		if _, err := NewReader(strings.NewReader(reply)).Value(); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v, want a protocol error", name, err)
		}
	}
}

func TestReaderRefusesManyArraysThatAreTooManyTogether(t *testing.T) {
	var b bytes.Buffer
	b.Write(AppendArray(nil, 3))
	for range 3 {
		b.Write(AppendArray(nil, maxElements/2))
		b.WriteString(strings.Repeat(":1\r\n", maxElements/2))
	}
	if _, err := NewReader(&b).Value(); !errors.Is(err, ErrProtocol) {
		t.Errorf("got %v, want a protocol error", err)
	}
}

func TestReaderGivesALargeBufferUpOnceItIsEmpty(t *testing.T) {
	large := AppendBulk(nil, strings.Repeat("x", 3<<20))
	r := NewReader(io.MultiReader(bytes.NewReader(large), strings.NewReader("+OK\r\n")))
	for _, want := range []int{3 << 20, 2} {
		v, err := r.Value()
		if err != nil || len(v.Str) != want {
			t.Fatalf("a string of %d bytes, %v, want %d", len(v.Str), err, want)
		}
		if len(r.buf) > keepBuffer {
			t.Errorf("the buffer keeps %d bytes", len(r.buf))
		}
	}
}

func TestReaderDoesNotGrowForManySmallReplies(t *testing.T) {
	reply := AppendBulk(nil, strings.Repeat("x", 1000))
	r := NewReader(bytes.NewReader(bytes.Repeat(reply, 1000)))
	for range 1000 {
		if _, err := r.Value(); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.buf) != firstBuffer {
		t.Errorf("the buffer has %d bytes, want %d", len(r.buf), firstBuffer)
	}
}

func TestReplyCutShortIsAnError(t *testing.T) {
	reply := "*2\r\n$3\r\nabc\r\n:12\r\n"
	for n := range len(reply) {
		if v, err := NewReader(strings.NewReader(reply[:n])).Value(); err == nil {
			t.Errorf("%d of %d bytes gave %v", n, len(reply), v)
		}
	}
}

func TestCommandReadsBackAsItsArguments(t *testing.T) {
	args := []string{"SET", "k", "", "\r\n", strings.Repeat("long", 1000)}
	v, err := NewReader(bytes.NewReader(AppendCommand(nil, args...))).Value()
	if err != nil || len(v.Elems) != len(args) {
		t.Fatalf("%v, %v", v, err)
	}
	for i, e := range v.Elems {
		if e.Str != args[i] {
			t.Errorf("argument %d is %q, want %q", i, e.Str, args[i])
		}
	}
}
