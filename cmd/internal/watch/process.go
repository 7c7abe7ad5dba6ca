package watch

import (
	"errors"
	"io"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Watcher gets what a process does, and which call it serves.
type Watcher interface {
	Observe(policy.Observation)
	CallBegins(tool string)
}

// Process is a process that can be watched.
type Process interface {
	lifecycle.Process
	ObserveAfresh() error
}

var _ Process = (*confine.Process)(nil)

// Calls returns a process that tells a watcher which call it serves.
func Calls(p Process, to Watcher) lifecycle.Process { return &watchedProcess{p, to} }

type watchedProcess struct {
	Process
	to Watcher
}

// CallBegins implements lifecycle.CallObserver: what the process does from here on belongs to a call.
func (p *watchedProcess) CallBegins(tool string, beside bool) {
	p.ObserveAfresh() // reports the counts of before
	p.to.CallBegins(tool)
	if o, ok := p.Process.(lifecycle.CallObserver); ok {
		o.CallBegins(tool, beside)
	}
}

// closers are closed together.
type closers []io.Closer

// Close closes all.
func (c closers) Close() (err error) {
	for _, one := range c {
		err = errors.Join(err, one.Close())
	}
	return err
}
