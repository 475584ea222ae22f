package model

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/korvet-io/korvet/internal/iceberg/store"
)

// shelf is the store as a process of the program reaches it. It dates objects by the program's clock, and may fall asleep between
// two operations.
type shelf struct {
	store.Store
	remote *remoteTier

	mu         sync.Mutex
	left       int // operations before it sleeps; -1: it never does
	held, wake chan struct{}
}

// hold has it fall asleep after n operations: held tells that it does. wake may be called more than once.
func (s *shelf) hold(n int) (held <-chan struct{}, wake func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.held, s.wake = n, make(chan struct{}), make(chan struct{})
	return s.held, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.left = -1
		close(s.wake)
	})
}

// pass counts an operation, or sleeps.
func (s *shelf) pass() {
	s.mu.Lock()
	if s.left < 0 {
		s.mu.Unlock()
		return
	}
	if s.left > 0 {
		s.left--
		s.mu.Unlock()
		return
	}
	wake := s.wake
	select {
	case <-s.held:
	default:
		close(s.held)
	}
	s.mu.Unlock()
	<-wake
}

// date notes when an object was written, before anybody can see it.
func (s *shelf) date(location string) { s.remote.born.Store(location, s.remote.ahead.Load()) }

func (s *shelf) Put(ctx context.Context, location string, body io.Reader) error {
	s.pass()
	s.date(location)
	return s.Store.Put(ctx, location, body)
}

func (s *shelf) PutIfAbsent(ctx context.Context, location string, body []byte) error {
	s.pass()
	if _, known := s.remote.born.Load(location); !known {
		s.date(location)
	}
	return s.Store.PutIfAbsent(ctx, location, body)
}

func (s *shelf) Read(ctx context.Context, location string) ([]byte, error) {
	s.pass()
	return s.Store.Read(ctx, location)
}

func (s *shelf) Delete(ctx context.Context, locations []string) error {
	s.pass()
	return s.Store.Delete(ctx, locations)
}

func (s *shelf) List(ctx context.Context, folder string, each func(store.Object) error) error {
	s.pass()
	return s.Store.List(ctx, folder, func(o store.Object) error {
		if ahead, known := s.remote.born.Load(o.Location); known {
			o.Modified = o.Modified.Add(time.Duration(ahead.(int64)))
		}
		return each(o)
	})
}
