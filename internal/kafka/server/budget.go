package server

import "sync"

// budget bounds bytes held by all connections together. When the bytes in use reach max, reading pauses, and goes on
// only when they have fallen to resume: the gap keeps it from flapping.
type budget struct {
	max, resume int64
	onChange    func(used int64) // called with the lock held, so that the last value told is the last one
	onPause     func(action string)

	mu     sync.Mutex
	used   int64
	paused chan struct{} // not nil while paused; closed when reading may go on
}

func newBudget(max, resume int64) *budget {
	return &budget{max: max, resume: resume, onChange: func(int64) {}, onPause: func(string) {}}
}

// pausedUntil returns nil when reading may go on, else a channel that is closed when it is worth asking again.
func (b *budget) pausedUntil() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.paused
}

// tryAcquire takes n bytes unless reading is paused; then it returns a channel as pausedUntil does. The bytes may exceed
// max by one request: a budget with room never refuses, so that a large request cannot starve.
func (b *budget) tryAcquire(n int) <-chan struct{} {
	b.mu.Lock()
	if b.paused != nil {
		defer b.mu.Unlock()
		return b.paused
	}
	b.addLocked(n)
	return nil
}

// add takes n bytes, paused or not: they are there already.
func (b *budget) add(n int) {
	b.mu.Lock()
	b.addLocked(n)
}

// addLocked adds n bytes and unlocks.
func (b *budget) addLocked(n int) {
	b.used += int64(n)
	pause := b.paused == nil && b.used >= b.max
	if pause {
		b.paused = make(chan struct{})
	}
	b.onChange(b.used)
	b.mu.Unlock()
	if pause {
		b.onPause(ActionPause)
	}
}

// release gives n bytes back.
func (b *budget) release(n int) {
	b.mu.Lock()
	b.used -= int64(n)
	resume := b.paused != nil && b.used <= b.resume
	if resume {
		close(b.paused)
		b.paused = nil
	}
	b.onChange(b.used)
	b.mu.Unlock()
	if resume {
		b.onPause(ActionResume)
	}
}
