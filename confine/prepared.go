package confine

import "sync/atomic"

// Prepared is a supervisor process that was started before there was a profile: it makes namespaces while the caller
// resolves one. The methods may be called on nil, and at any time.
type Prepared struct{ starter atomic.Pointer[starter] }

// Prepare starts a supervisor process for one Start: see Launcher.Prepared. It returns no error: Start says what went
// wrong.
func (l Launcher) Prepare() *Prepared {
	p := &Prepared{}
	p.starter.Store(l.spawn(false))
	return p
}

// Close ends the supervisor process, if no Start has used it.
func (p *Prepared) Close() {
	if s := p.take(); s != nil {
		s.cancel()
	}
}

func (p *Prepared) take() *starter {
	if p == nil {
		return nil
	}
	return p.starter.Swap(nil)
}

// spawnNamespaced returns the prepared supervisor process, or a new one.
func (l Launcher) spawnNamespaced() *starter {
	if s := l.Prepared.take(); s != nil {
		return s
	}
	return l.spawn(false)
}
