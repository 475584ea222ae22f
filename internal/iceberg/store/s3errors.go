package store

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/smithy-go"
)

// wrapS3 names the object, and the kind of what happened.
func wrapS3(verb, location string, err error) error {
	if err == nil {
		return nil
	}
	var refused smithy.APIError
	var answered interface{ HTTPStatusCode() int }
	status, code := 0, ""
	if errors.As(err, &answered) {
		status = answered.HTTPStatusCode()
	}
	if errors.As(err, &refused) {
		code = refused.ErrorCode()
		err = &answer{text: strings.TrimSuffix(fmt.Sprintf("the server answers %d %s: %s", status, code, refused.ErrorMessage()), ": "+code), err: err}
	}
	switch {
	case code == "NoSuchBucket": // an object that is not there may be gone for good, a bucket is a mistake
	case status == http.StatusNotFound, code == "NoSuchKey":
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	case status == http.StatusPreconditionFailed:
		err = fmt.Errorf("%w: %w", ErrExists, err)
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		err = fmt.Errorf("%w: %w", ErrDenied, err)
	case status == http.StatusInsufficientStorage, code == "QuotaExceeded", code == "XMinioStorageFull":
		err = fmt.Errorf("%w: %w", ErrFull, err)
	case status == http.StatusRequestedRangeNotSatisfiable:
		err = fmt.Errorf("%w: %w", ErrShort, err)
	}
	return fmt.Errorf("%s %s: %w", verb, location, err)
}

// answer is a refusal without what differs from one request to the next, as the SDK's text has it: whoever tells a failure once
// knows by the text that it is still the same.
type answer struct {
	text string
	err  error
}

func (a *answer) Error() string { return a.text }
func (a *answer) Unwrap() error { return a.err }
