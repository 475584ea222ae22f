package cut_test

import (
	"bufio"
	"fmt"
	"net"
	"testing"

	"github.com/korvet-io/korvet/internal/redistest"
	"github.com/korvet-io/korvet/test/faults/cut"
)

func TestCommandsDieBetweenTwoOfThem(t *testing.T) {
	redis := redistest.Start(t)
	for limit := range 6 {
		redis.Do("DEL", "n")
		p, err := cut.StartCommands(redis.Addr())
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		p.Limit(limit)
		for range 5 { // in one piece, as a pipeline sends them
			if _, err := fmt.Fprint(c, "*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n"); err != nil {
				break // it died already
			}
		}
		answers := bufio.NewReader(c)
		for n := range min(limit, 5) {
			if line, err := answers.ReadString('\n'); err != nil || line != fmt.Sprintf(":%d\r\n", n+1) {
				break // a dead process does not hear all answers
			}
		}
		if limit < 5 {
			<-p.Died()
		}
		p.Close()
		m := redis.Do("GET", "n")
		got, _ := m.ToString() // nil: none was carried out
		if want := fmt.Sprint(min(limit, 5)); got != want && limit > 0 || p.Passed() != min(limit, 5) {
			t.Errorf("limit %d: %s were carried out, %d passed", limit, got, p.Passed())
		}
		c.Close()
	}
}

func TestCommandsAreHeldBackUntilTheProcessWakesUp(t *testing.T) {
	redis := redistest.Start(t)
	p, err := cut.StartCommands(redis.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	held, release := p.Hold(2)
	for range 5 {
		if _, err := fmt.Fprint(c, "*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-held
	redis.Do("SET", "n", "100")
	release()
	answers := bufio.NewReader(c)
	for _, want := range []string{":1", ":2", ":101", ":102", ":103"} {
		if line, err := answers.ReadString('\n'); err != nil || line != want+"\r\n" {
			t.Fatalf("answer %q, %v, want %s", line, err, want)
		}
	}
}
