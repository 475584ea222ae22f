package api

import (
	"container/list"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
)

// The epochs with a meaning of their own (KIP-227).
const (
	sessionEpochInitial = 0  // a full fetch that opens a session
	sessionEpochFinal   = -1 // a full fetch without one, which closes the one it names
)

// maxSessionPartitions bounds the partitions of all sessions together: each takes some 150 bytes.
const maxSessionPartitions = 500_000

// topicPartition names a partition in requests: by topic name, or by topic id from Produce and Fetch v13 on.
type topicPartition struct {
	topic     string
	id        uuid.UUID
	partition int32
}

// sessionPartition is a partition of a session: what to fetch, and what the client was told last.
type sessionPartition struct {
	topicPartition
	ask           partitionAsk
	highWatermark int64 // as last sent; -1: nothing was, or an error
	logStart      int64
	served        bool // it got records in the answer that is being made
}

// partitionAsk is what a client asks of a partition.
type partitionAsk struct {
	offset           int64
	maxBytes         int32
	leaderEpoch      int32 // the client's; -1: unknown
	lastFetchedEpoch int32 // -1: unknown
}

// fetchSession is what a broker remembers between the fetches of one client (KIP-227).
type fetchSession struct {
	id   int32
	byID bool // opened by Fetch v13 or later, with topic ids

	// Guarded by fetchSessions.mu.
	used   time.Time
	place  *list.Element // in the order of use
	size   int           // partitions counted
	closed bool

	mu         sync.Mutex // held while a fetch is planned or answered; taken before fetchSessions.mu
	epoch      int32      // that the next fetch must name
	partitions map[topicPartition]*sessionPartition
	order      []*sessionPartition // in the order to serve them: those that got records last go to the end
}

// fetchSessions keeps a bounded number of sessions.
type fetchSessions struct {
	max        int
	evictAfter time.Duration
	random     io.Reader

	mu         sync.Mutex
	byID       map[int32]*fetchSession
	oldest     *list.List // of *fetchSession, least recently used first
	partitions int        // of all sessions
}

func newFetchSessions(max int, evictAfter time.Duration, random io.Reader) *fetchSessions {
	return &fetchSessions{max: max, evictAfter: evictAfter, random: random, byID: make(map[int32]*fetchSession), oldest: list.New()}
}

// open makes a session of these partitions. It returns nil when there is no room: the client then goes on with full
// fetches. Only a session that was not used for a while gives way to a new one.
func (s *fetchSessions) open(now time.Time, byID bool, partitions []*sessionPartition) *fetchSession {
	if len(partitions) == 0 || s.max == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.byID) >= s.max || s.partitions+len(partitions) > maxSessionPartitions {
		front := s.oldest.Front()
		if front == nil || now.Sub(front.Value.(*fetchSession).used) <= s.evictAfter {
			return nil
		}
		s.removeLocked(front.Value.(*fetchSession))
	}
	id, err := s.newID()
	if err != nil {
		return nil
	}
	fs := &fetchSession{id: id, byID: byID, used: now, epoch: 1, order: partitions, partitions: make(map[topicPartition]*sessionPartition, len(partitions))}
	for _, p := range partitions {
		fs.partitions[p.topicPartition] = p
	}
	s.byID[id] = fs
	fs.size = len(fs.partitions)
	s.partitions += fs.size
	fs.place = s.oldest.PushBack(fs)
	return fs
}

// newID returns a random id that is in no use; 0 means none in the protocol.
func (s *fetchSessions) newID() (int32, error) {
	for {
		var b [4]byte
		if _, err := io.ReadFull(s.random, b[:]); err != nil {
			return 0, fmt.Errorf("make session id: %w", err)
		}
		id := int32(binary.BigEndian.Uint32(b[:]) >> 1)
		if id != 0 && s.byID[id] == nil {
			return id, nil
		}
	}
}

// resume finds a session for an incremental fetch and locks it. Its epoch has moved on to the one after this fetch's.
func (s *fetchSessions) resume(now time.Time, id, epoch int32, byID bool) (*fetchSession, error) {
	s.mu.Lock()
	fs := s.byID[id]
	if fs != nil {
		fs.used = now
		s.oldest.MoveToBack(fs.place)
	}
	s.mu.Unlock()
	if fs == nil {
		return nil, refuse(kerr.FetchSessionIDNotFound, "fetch session %d", id)
	}
	fs.mu.Lock()
	switch {
	case epoch != fs.epoch:
		defer fs.mu.Unlock()
		return nil, refuse(kerr.InvalidFetchSessionEpoch, "fetch session %d: epoch %d, expected %d", id, epoch, fs.epoch)
	case byID != fs.byID:
		defer fs.mu.Unlock()
		return nil, refuse(kerr.FetchSessionTopicIDError, "fetch session %d: topic names and topic ids in one session", id)
	}
	if fs.epoch++; fs.epoch < 1 {
		fs.epoch = 1
	}
	return fs, nil
}

// resized accounts for a session's number of partitions. It reports false, and has closed the session, when there is no
// room for them.
func (s *fetchSessions) resized(fs *fetchSession, size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fs.closed {
		return true
	}
	s.partitions += size - fs.size
	fs.size = size
	if s.partitions <= maxSessionPartitions {
		return true
	}
	s.removeLocked(fs)
	return false
}

// close ends a session, if there is one of this id.
func (s *fetchSessions) close(id int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fs := s.byID[id]; fs != nil {
		s.removeLocked(fs)
	}
}

func (s *fetchSessions) removeLocked(fs *fetchSession) {
	fs.closed = true
	delete(s.byID, fs.id)
	s.oldest.Remove(fs.place)
	s.partitions -= fs.size
}
