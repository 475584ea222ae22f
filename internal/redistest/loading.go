package redistest

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"time"
)

// RestartLoading kills the process and starts it again so that it stays in the state in which Redis answers LOADING,
// until FinishLoading. The server needs an AOF of at least a few thousand commands.
func (s *Server) RestartLoading() {
	s.t.Helper()
	s.Kill()
	s.launch("--key-load-delay", "1000")
	Eventually(s.t, "redis to say that it is loading", s.Loading)
}

// Loading tells whether the server answers LOADING.
func (s *Server) Loading() bool { return strings.HasPrefix(s.once("PING"), "-LOADING") }

// FinishLoading lets a server that RestartLoading started load at full speed, and returns when it is done.
func (s *Server) FinishLoading() {
	s.t.Helper()
	Eventually(s.t, "redis to load without delay", func() bool {
		return s.once("CONFIG", "SET", "key-load-delay", "0") == "+OK\r\n"
	})
	Eventually(s.t, "redis to have loaded", s.answers)
}

// once runs one command and returns the first line of its answer. It speaks RESP itself: client libraries begin with
// commands that a loading server refuses. An answer that does not come is an empty line.
func (s *Server) once(args ...string) string {
	c, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return ""
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second)) // a failure shows in the read below
	if _, err := fmt.Fprintf(c, "%s\r\n", strings.Join(args, " ")); err != nil {
		return ""
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return ""
	}
	return line
}
