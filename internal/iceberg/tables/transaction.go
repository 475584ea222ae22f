package tables

import (
	"context"
	"fmt"
	"slices"
	"strings"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/korvet-io/korvet/internal/iceberg/chain"
)

// transaction begins a change on a state. It is committed on that state or not at all: nothing rebases it.
func (t *Table) transaction(base *State) (*table.Transaction, *committer, error) {
	m, err := withoutRetries(base.version.Metadata)
	if err != nil {
		return nil, nil, err
	}
	c := &committer{table: t, base: base}
	io := t.checkedIO(base)
	fs := func(ctx context.Context) (iceio.IO, error) { return io(ctx), nil }
	return table.New(t.name, m, base.version.Location, fs, c).NewTransaction(), c, nil
}

// retryProperties are of engines, for their own commits. The library would follow them at ours, and fail for ever at those that it
// does not like.
const retryProperties = "commit.retry."

// withoutRetries is metadata as a transaction is to see it.
func withoutRetries(m table.Metadata) (table.Metadata, error) {
	var names []string
	for name := range m.Properties() {
		if strings.HasPrefix(name, retryProperties) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return m, nil
	}
	m, err := table.UpdateTableMetadata(m, []table.Update{table.NewRemovePropertiesUpdate(names)}, "")
	if err != nil {
		return nil, fmt.Errorf("leave out the retries of engines: %w", err)
	}
	return m, nil
}

// committer is the catalog that the Iceberg library commits one transaction to.
type committer struct {
	table *Table
	base  *State
	// operation is what the snapshot is called instead of what the library calls it; "": as it does.
	operation table.Operation
	// still is asked before the commit, which its error ends; nil: nothing is.
	still func(context.Context) error
	done  *chain.Version
}

// LoadTable refuses: the library asks for it in order to rebase a commit.
func (c *committer) LoadTable(context.Context, table.Identifier) (*table.Table, error) {
	return nil, fmt.Errorf("load table: %w", chain.ErrConflict)
}

// CommitTable writes the next version of the table.
func (c *committer) CommitTable(ctx context.Context, _ table.Identifier, required []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	base := c.base.version
	for _, r := range required {
		if err := r.Validate(base.Metadata); err != nil {
			return nil, "", fmt.Errorf("%w: %w", chain.ErrConflict, err)
		}
	}
	m, err := table.UpdateTableMetadata(base.Metadata, updates, base.Location)
	if err == nil && c.operation != "" {
		updates = renamed(updates, m.CurrentSnapshot(), c.operation)
		m, err = table.UpdateTableMetadata(base.Metadata, updates, base.Location)
	}
	if err != nil {
		return nil, "", fmt.Errorf("change table's metadata: %w", err)
	}
	if c.still != nil {
		if err := c.still(ctx); err != nil {
			return nil, "", err
		}
	}
	if c.done, err = c.table.chain.CommitUpdates(ctx, base, updates, m); err != nil {
		return nil, "", err
	}
	return m, c.done.Location, nil
}

// renamed gives the snapshot that is added another operation.
func renamed(updates []table.Update, added *table.Snapshot, operation table.Operation) []table.Update {
	list := slices.Clone(updates)
	for i, u := range list {
		if u.Action() == table.UpdateAddSnapshot && added.Summary != nil {
			added.Summary.Operation = operation
			list[i] = table.NewAddSnapshotUpdate(added)
		}
	}
	return list
}
