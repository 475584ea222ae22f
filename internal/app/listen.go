package app

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
)

// listen opens a listener. setting is the name of the port's setting, for messages.
func listen(setting, host string, port int) (net.Listener, error) {
	bind := strings.Trim(host, "[]")
	if ip := net.ParseIP(bind); ip != nil && ip.IsUnspecified() {
		bind = "" // all addresses of both families: clients may resolve localhost to either
	}
	l, err := net.Listen("tcp", net.JoinHostPort(bind, strconv.Itoa(port)))
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("port %d is in use by another program: stop it, or choose another %s", port, setting)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("port %d may not be opened by this user: choose another %s, above 1023", port, setting)
	}
	return nil, fmt.Errorf("listen on %s=%d: %w", setting, port, err)
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// reachable is the host:port of a listener for programs of this machine.
func reachable(l net.Listener) string {
	a := l.Addr().(*net.TCPAddr)
	if a.IP.IsUnspecified() {
		return net.JoinHostPort("localhost", strconv.Itoa(a.Port))
	}
	return a.String()
}
