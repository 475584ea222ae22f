package harness

import (
	"io"
	"net/http"
)

// Get asks the broker's HTTP port.
func (b *Broker) Get(path string) (status int, body string) {
	b.t.Helper()
	answer, err := http.Get("http://" + b.HTTPAddr + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode, string(all)
}
