package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/korvet-io/korvet/internal/group"
	"github.com/korvet-io/korvet/internal/metadata"
	"github.com/korvet-io/korvet/internal/partition"
)

func TestNoErrorBecomesSuccessOrUnknownServerError(t *testing.T) {
	list := []error{errors.New("surprise"), context.Canceled, kerr.InvalidRequest}
	for i := range errorCodes {
		list = append(list, fmt.Errorf("wrapped: %w", errorCodes[i].kind))
	}
	for _, err := range list {
		if code := errorCode(err); code <= 0 {
			t.Errorf("%v: code %d", err, code)
		}
	}
	if errorCode(nil) != 0 || errorMessage(nil) != nil {
		t.Error("nil is an error")
	}
}

func TestClientsAreNotToldWhatIsBehindTheBroker(t *testing.T) {
	for _, kind := range []error{partition.ErrNotLeader, partition.ErrStorage, partition.ErrTimeout, metadata.ErrUnavailable, errors.New("surprise")} {
		err := fmt.Errorf("%w: dial 10.1.2.3:6379", kind)
		if text := *errorMessage(err); strings.Contains(text, "10.1.2.3") {
			t.Errorf("%v: told %q", kind, text)
		}
	}
	if text := *errorMessage(fmt.Errorf("%w: 17 records", partition.ErrTooLarge)); !strings.Contains(text, "17 records") {
		t.Errorf("told only %q of the client's own mistake", text)
	}
}

func TestClientsAreToldThatRedisIsFull(t *testing.T) {
	for _, c := range []struct {
		err  error
		code string
		text []string
	}{
		{fmt.Errorf("%w: %w: OOM of 10.1.2.3", metadata.ErrUnavailable, metadata.ErrFull), "KAFKA_STORAGE_ERROR", []string{"full (maxmemory)"}},
		{fmt.Errorf("%w: %w: MISCONF of 10.1.2.3", metadata.ErrUnavailable, metadata.ErrNotSaved), "KAFKA_STORAGE_ERROR", []string{"MISCONF"}},
		{fmt.Errorf("%w: %w: OOM of 10.1.2.3", group.ErrCoordinatorUnavailable, metadata.ErrFull), "COORDINATOR_NOT_AVAILABLE",
			[]string{group.ErrCoordinatorUnavailable.Error(), "full (maxmemory)"}},
		{fmt.Errorf("%w: OOM of 10.1.2.3", partition.ErrFull), "KAFKA_STORAGE_ERROR", []string{"full (maxmemory)"}},
	} {
		text := *errorMessage(c.err)
		for _, part := range c.text {
			if !strings.Contains(text, part) || strings.Contains(text, "10.1.2.3") {
				t.Errorf("%v: told %q", c.err, text)
			}
		}
		if got := codeName(errorCode(c.err)); got != c.code {
			t.Errorf("%v: %s, want %s", c.err, got, c.code)
		}
	}
}

func TestMessagesAreBounded(t *testing.T) {
	text := *errorMessage(fmt.Errorf("%s: %w", strings.Repeat("ü", 50_000), kerr.InvalidRequest))
	if len(text) > maxMessage+3 || !strings.HasPrefix(text, "üü") {
		t.Errorf("%d bytes", len(text))
	}
}

func TestTimeoutsAreCodesThatClientsGoOnAfter(t *testing.T) {
	if got := codeName(fetchErrorCode(partition.ErrTimeout)); got != "NOT_LEADER_FOR_PARTITION" {
		t.Errorf("fetch: %s", got)
	}
	if got := codeName(metadataErrorCode(metadata.ErrUnavailable)); got != "LEADER_NOT_AVAILABLE" {
		t.Errorf("metadata: %s", got)
	}
	if got := codeName(fetchErrorCode(partition.ErrOffsetOutOfRange)); got != "OFFSET_OUT_OF_RANGE" {
		t.Errorf("fetch: %s", got)
	}
}

func TestErrorOfNoKnownKindIsLogged(t *testing.T) {
	b := newBroker(t, nil)
	b.logs.fail[0] = errors.New("surprise")
	if p := b.produce("t", 9, valuesOf("a")); codeName(p.ErrorCode) != "KAFKA_STORAGE_ERROR" {
		t.Fatalf("%+v", p)
	}
	for _, want := range []string{"surprise", "api=Produce", "version=9", "correlation_id=7", "client_id=c"} {
		if !strings.Contains(b.lines.String(), want) {
			t.Errorf("no %s in %s", want, b.lines)
		}
	}
}
