package metadata

// Healthy tells whether the last heartbeat was answered.
func (s *Store) Healthy() bool { return s.healthy.Load() }
