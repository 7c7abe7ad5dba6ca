package stateless

// refresh has the configuration read again if it has changed. It is called before the policy of a
// call is resolved, and before each use of a discovery worker.
func (s *statelessSession) refresh(asked bool) {
	if s.client.Config.Refresh == nil {
		return
	}
	r := s.client.Config.Refresh()
	s.client.TellRefreshed(r, asked)
	if r.Changed {
		s.reloaded()
	}
}

// reloaded compares the policy of discovery workers with the one before. If they differ, it
// forgets the server's answers, and stops the discovery workers under the old policy when they are
// idle. It tells a legacy client that its lists have changed.
func (s *statelessSession) reloaded() {
	t, err := s.options.Tool("")
	if err != nil {
		return // the next discovery says it
	}
	s.mu.Lock()
	before := s.profile
	s.profile = t.Profile
	introduced := s.legacyInfo != nil
	s.mu.Unlock()
	if before.Key() == t.Profile.Key() {
		return
	}
	offered := s.cache.reset()
	for i := range s.discoveries {
		d := &s.discoveries[i]
		d.mu.Lock()
		if w := d.worker; w != nil && w.server.Profile.Key() != t.Profile.Key() {
			d.worker = nil
			s.client.Tasks.Go(w.stopWhenIdle)
		}
		d.mu.Unlock()
	}
	for _, kind := range offered {
		if introduced {
			s.notifyListChanged(kind)
		}
	}
}
