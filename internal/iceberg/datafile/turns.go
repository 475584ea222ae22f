package datafile

// Turns bound how many goroutines decode or encode at once, of all that share them. Each turn is about a page's work. With fewer
// turns than processors there is always one for those who answer requests: while all are busy, Go looks only every 10 ms for what
// has come from the network. A nil Turns bounds nothing.
type Turns chan struct{}

// NewTurns lets n goroutines work at once.
func NewTurns(n int) Turns { return make(Turns, n) }

// Do calls work when it is its turn. It must not wait for anything.
func (t Turns) Do(work func()) {
	if t != nil {
		t <- struct{}{}
		defer func() { <-t }()
	}
	work()
}
