package coordinator

import (
	"context"
	"errors"

	"github.com/korvet-io/korvet/internal/group"
)

// The errors of a Store. With both nothing was changed; any other error leaves open what happened.
var (
	// ErrStale tells that a newer claim exists.
	ErrStale = errors.New("the group was claimed by another coordinator")
	// ErrRefused tells that Redis did not take a command (it is full, read-only, loading): the claim holds.
	ErrRefused = errors.New("redis refused to store")
)

// Token tells a claim of a group from earlier and later ones: it only grows.
type Token uint64

// Store keeps groups in Redis. Its methods are safe for concurrent use; the coordinator calls them one at a time per group.
type Store interface {
	// Names lists the groups that may exist. A name in it may be of one that is gone.
	Names(ctx context.Context) ([]string, error)
	// Exists tells whether anything is stored of a group.
	Exists(ctx context.Context, name string) (bool, error)
	// Claim makes this broker the group's coordinator: no claim before it changes anything from then on. It returns what
	// is stored, which for a new group is nothing.
	Claim(ctx context.Context, name string) (Token, Loaded, error)
	// Holds returns nil while a claim is the newest, else ErrStale. Token 0 stands for: there is none.
	Holds(ctx context.Context, name string, t Token) error
	// Room returns nil while the store takes something new of a group, and ErrRefused while it does not. It changes nothing.
	Room(ctx context.Context, name string) error
	// Commit sets and removes offsets, all or none.
	Commit(ctx context.Context, name string, t Token, set []Offset, gone []TopicPartition) error
	// Save stores changes of the group's members. From then on a claim finds them, whatever happens.
	Save(ctx context.Context, name string, t Token, c *group.Changes) error
	// Delete removes the group and its offsets.
	Delete(ctx context.Context, name string, t Token) error
}

// Loaded is what a claim found. Group.Generation may be newer than Group.Group and the members, when a Save was cut short:
// nobody was given an answer of that generation, and none up to it may be given again.
type Loaded struct {
	Group   group.Stored
	Offsets []Offset
}
