package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/tables"
)

// change is what a commit asks for.
type change struct {
	Identifier   *identifier        `json:"identifier"`
	Requirements table.Requirements `json:"requirements"`
	Updates      table.Updates      `json:"updates"`
}

// transaction is a commit to several tables.
type transaction struct {
	Changes []change `json:"table-changes"`
}

func decode(body []byte, into any) (err error) {
	defer func() {
		if p := recover(); p != nil { // the library's decoders trust what they are given
			err = badRequest(fmt.Sprint("the request cannot be understood: ", p))
		}
	}()
	if err := json.Unmarshal(body, into); err != nil {
		return badRequest("the request cannot be understood: " + err.Error())
	}
	return nil
}

// body reads what a request sends.
func (q *call) body() ([]byte, error) {
	b, err := io.ReadAll(q.r.Body)
	var tooLarge *http.MaxBytesError
	if err != nil && !errors.As(err, &tooLarge) {
		return nil, badRequest("the request has no end: " + err.Error())
	}
	return b, err
}

func (c *Catalog) commitTable(q *call) error {
	body, err := q.body()
	if err != nil {
		return err
	}
	var ch change
	if err := decode(body, &ch); err != nil {
		return err
	}
	s, err := c.commit(q, q.names[0], q.names[1], &ch)
	if err != nil {
		return err
	}
	q.w.Header().Set("ETag", c.tag(s))
	return q.write(tableBody(s, nil))
}

// commitTransaction takes a commit to one table: those of several could not be undone together.
func (c *Catalog) commitTransaction(q *call) error {
	body, err := q.body()
	if err != nil {
		return err
	}
	var tx transaction
	if err := decode(body, &tx); err != nil {
		return err
	}
	if len(tx.Changes) != 1 {
		return badRequest(fmt.Sprintf("a commit changes one table, not %d", len(tx.Changes)))
	}
	ch := &tx.Changes[0]
	if ch.Identifier == nil || len(ch.Identifier.Namespace) == 0 {
		return badRequest("table-changes name no table")
	}
	namespace := ch.Identifier.Namespace[0]
	for _, level := range ch.Identifier.Namespace[1:] {
		namespace += "\x1f" + level
	}
	if _, err := c.commit(q, namespace, ch.Identifier.Name, ch); err != nil {
		return err
	}
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}

// commit makes a change. One whose client goes away before it is written is not made: nobody would hear of it.
func (c *Catalog) commit(q *call, namespace, name string, ch *change) (*tables.State, error) {
	tier, entry, err := c.find(namespace, name)
	if p := (problem{}); errors.As(err, &p) && p.status >= http.StatusInternalServerError { // nothing was written
		return nil, problem{http.StatusConflict, "CommitFailedException", p.message}
	}
	if err != nil {
		return nil, err
	}
	if c.settings.ReadOnly {
		return nil, problem{http.StatusForbidden, "ForbiddenException", "korvet.storage.remote.catalog.read-only is set: tables are not changed through this broker"}
	}
	q.extend(c.settings.CommitTimeout + tables.ApplyTimeout + 5*time.Second)
	ctx, cancel := context.WithTimeout(q.r.Context(), c.settings.CommitTimeout)
	defer cancel()
	began := time.Now()
	s, err := tier.Table(entry).Apply(ctx, c.turns, ch.Requirements, ch.Updates)
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(err, tables.ErrConflict) {
			err = fmt.Errorf("%w: this took longer than korvet.storage.remote.catalog.commit-timeout: try again, since what was compared is remembered, or commit fewer files at once", err)
			c.log.Warn("an engine's commit took too long to compare: nothing was changed", "table", entry.Name, "client", q.r.UserAgent(), "error", err)
		}
		return nil, commitProblem(err)
	}
	if c.settings.Committed != nil {
		c.settings.Committed(entry.Location)
	}
	c.log.Info("an engine has changed a table", "table", entry.Name, "topic", entry.Topic, "client", q.r.UserAgent(), "metadata", s.MetadataLocation(), "took", time.Since(began).Round(time.Millisecond))
	return s, nil
}

// extend gives an answer more time than the HTTP server does. The request was read; what it waits for now is the client's end.
func (q *call) extend(by time.Duration) {
	connection := http.NewResponseController(q.w)
	_ = connection.SetReadDeadline(time.Time{}) // a writer without deadlines has none to extend
	_ = connection.SetWriteDeadline(time.Now().Add(by))
}

// takeMetrics takes what engines tell of their scans and commits, and keeps nothing of it.
func (c *Catalog) takeMetrics(q *call) error {
	_, _ = io.Copy(io.Discard, q.r.Body)
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}
