package redisstream

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Options says which Redis holds the messages and how to reach it.
type Options struct {
	Network  string // tcp or unix
	Address  string
	Username string
	Password string
	DB       int
	TLS      *tls.Config // nil: plain

	WriteConnections int           // shared by all partitions, routed by stream key
	ReadConnections  int           // reads of the log beyond the tail cache in flight at once
	DialTimeout      time.Duration // for one attempt to connect, authenticate and learn the identity, for writing one request, and for one read
	Breaker          bool          // fail fast while Redis cannot be reached
	OpenDuration     time.Duration // longest pause between probes while the breaker is open
}

// ParseURI reads redis://[user:password@]host[:port][/db], rediss:// for TLS and redis+unix:///path[?db=n].
func ParseURI(uri string) (Options, error) {
	u, err := url.Parse(uri)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // the error itself repeats the text, password and all
		}
		return Options{}, fmt.Errorf("parse redis uri: %w", err)
	}
	o := Options{Network: "tcp"}
	if u.User != nil {
		o.Username = u.User.Username()
		o.Password, _ = u.User.Password()
	}
	db := strings.TrimPrefix(u.Path, "/")
	switch u.Scheme {
	case "redis":
	case "rediss":
		o.TLS = &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
	case "redis+unix", "unix":
		o.Network, o.Address, db = "unix", u.Path, u.Query().Get("db")
		if u.Path == "" {
			return Options{}, fmt.Errorf("parse redis uri: no path of a socket")
		}
	default:
		return Options{}, fmt.Errorf("parse redis uri: scheme %q is none of redis, rediss, redis+unix", u.Scheme)
	}
	if o.Network == "tcp" {
		port := u.Port()
		if port == "" {
			port = "6379"
		}
		if u.Hostname() == "" {
			return Options{}, fmt.Errorf("parse redis uri: no host")
		}
		o.Address = joinHostPort(u.Hostname(), port)
	}
	if db != "" {
		if o.DB, err = strconv.Atoi(db); err != nil || o.DB < 0 {
			return Options{}, fmt.Errorf("parse redis uri: database %q is no number", db)
		}
	}
	return o, nil
}

func joinHostPort(host, port string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]:" + port
	}
	return host + ":" + port
}
