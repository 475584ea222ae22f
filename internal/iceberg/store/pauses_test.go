package store

import (
	"errors"
	"net/http"
	"testing"
	"time"

	smithyhttp "github.com/aws/smithy-go/transport/http"
)

func TestPausesAreAsLongAsTheServerAsksFor(t *testing.T) {
	r := retryer(5, 30*time.Second)
	refused := func(after string) error {
		answer := &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}}}
		answer.Header.Set("Retry-After", after)
		return &smithyhttp.ResponseError{Response: answer, Err: errors.New("slow down")}
	}
	for _, c := range []struct {
		after       string
		least, most time.Duration
	}{
		{"7", 7 * time.Second, 7 * time.Second}, {"3600", 30 * time.Second, 30 * time.Second}, {"0", 0, 2 * time.Second}, {"-1", 0, 2 * time.Second},
		{"99999999999999999999", 0, 2 * time.Second}, {"Wed, 21 Oct 2026 07:28:00 GMT", 0, 2 * time.Second}, {"", 0, 2 * time.Second},
	} {
		if d, err := r.RetryDelay(1, refused(c.after)); err != nil || d < c.least || d > c.most {
			t.Errorf("Retry-After %q: a pause of %v, %v, want %v to %v", c.after, d, err, c.least, c.most)
		}
	}
	if d, err := r.RetryDelay(1, errors.New("connection reset")); err != nil || d > 2*time.Second {
		t.Errorf("without an answer: %v, %v", d, err)
	}
}
