package redistest

import (
	"testing"
)

func TestRestartAfterKillKeepsWhatTheAOFHolds(t *testing.T) {
	s := Start(t, "--appendonly", "yes", "--appendfsync", "always")
	s.Do("SET", "k", "v")
	s.Restart()
	m := s.Do("GET", "k")
	if v, _ := m.ToString(); v != "v" {
		t.Errorf("after a restart k is %q, want v", v)
	}
}

func TestReplicaFollows(t *testing.T) {
	s := Start(t)
	r := s.Replica()
	s.Do("SET", "k", "v")
	Eventually(t, "the key to reach the replica", func() bool {
		m := r.Do("GET", "k")
		v, _ := m.ToString()
		return v == "v"
	})
}

func TestPausedServerAnswersAfterResume(t *testing.T) {
	s := Start(t)
	c := s.Client()
	s.Pause()
	answered := make(chan error, 1)
	go func() { answered <- c.Do(t.Context(), c.B().Ping().Build()).Error() }()
	s.Resume()
	if err := <-answered; err != nil {
		t.Errorf("ping after resume: %v", err)
	}
}

func TestServerStaysLoadingUntilItMayFinish(t *testing.T) {
	s := Start(t, "--appendonly", "yes")
	s.Do("EVAL", "for i = 1, 20000 do redis.call('RPUSH', 'l', i) end", "0")
	s.RestartLoading()
	if !s.Loading() {
		t.Error("the server does not say that it is loading")
	}
	s.FinishLoading()
	m := s.Do("LLEN", "l")
	if n, _ := m.ToInt64(); n != 20000 {
		t.Errorf("%d elements after loading, want 20000", n)
	}
}
