package store

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// retryer tries again what may go well the next time: answers 429 and 5xx, throttling, connections that fail, and a conditional put
// that met another one.
func retryer(attempts int, backoff time.Duration) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.Backoff, o.RateLimiter = attempts, pauses{most: backoff, drawn: retry.NewExponentialJitterBackoff(backoff)}, ratelimit.None
		o.Retryables = append(o.Retryables,
			retry.RetryableHTTPStatusCode{Codes: map[int]struct{}{http.StatusTooManyRequests: {}}},
			retry.RetryableErrorCode{Codes: map[string]struct{}{"ConditionalRequestConflict": {}, "OperationAborted": {}}},
		)
	})
}

// pauses are drawn by chance, from a range that doubles, and at least as long as the server asks for with Retry-After, within a bound.
type pauses struct {
	most  time.Duration
	drawn retry.BackoffDelayer
}

// BackoffDelay implements retry.BackoffDelayer.
func (p pauses) BackoffDelay(attempt int, err error) (time.Duration, error) {
	d, failed := p.drawn.BackoffDelay(attempt, err)
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && failed == nil {
		if seconds, err := strconv.ParseUint(answer.Response.Header.Get("Retry-After"), 10, 31); err == nil {
			d = min(p.most, max(d, time.Duration(seconds)*time.Second))
		}
	}
	return d, failed
}
