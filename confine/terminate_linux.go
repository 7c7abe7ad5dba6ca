package confine

import (
	"maps"
)

// Secrets are the values, by variable, that are put into the requests of the process
// and must be shown to nobody. They never were in the jail.
func (p *Process) Secrets() map[string]string {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if p.Terminator == nil {
		return nil
	}
	return maps.Clone(p.Terminator.Secrets)
}
