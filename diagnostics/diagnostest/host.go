// Package diagnostest lets tests choose what a [diagnostics.Host] answers.
package diagnostest

import (
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Answers are those of a host. Without Exists and Listens, what they tell is not known.
type Answers struct {
	Exists                   func(path string) bool
	May                      func(path string, rights policy.Rights) bool
	Canonical                func(path string) string
	Identity                 func(path string) (policy.FileID, bool)
	Variable, Source, Shared func(name string) string
	Holds                    func(file, name string) bool
	Listens                  func(host string, port int) bool
	Stale                    func(path string) bool
	Decide                   func(wants ...change.Want) []change.Proposal
	Listening                func() []int
	Elsewhere                func(port int) bool
}

// Of returns the answers of the host of evidence, to change some: at first those of [diagnostics.Unknown]. Copies of the
// evidence keep theirs.
func Of(ev *diagnostics.Evidence) *Answers {
	no := diagnostics.Unknown{}
	a := &Answers{
		May: no.May, Canonical: no.Canonical, Identity: no.Identity, Variable: no.Variable, Source: no.Source, Shared: no.Shared, Holds: no.Holds,
		Stale: no.Stale, Decide: no.Decide, Listening: no.Listening, Elsewhere: no.Elsewhere,
	}
	if h, ok := ev.Host.(host); ok {
		*a = *h.a
	}
	ev.Host = host{a}
	return a
}

type host struct{ a *Answers }

func (h host) May(path string, rights policy.Rights) bool    { return h.a.May(path, rights) }
func (h host) Canonical(path string) string                  { return h.a.Canonical(path) }
func (h host) Identity(path string) (policy.FileID, bool)    { return h.a.Identity(path) }
func (h host) Variable(name string) string                   { return h.a.Variable(name) }
func (h host) Source(name string) string                     { return h.a.Source(name) }
func (h host) Shared(dir string) string                      { return h.a.Shared(dir) }
func (h host) Holds(file, name string) bool                  { return h.a.Holds(file, name) }
func (h host) Stale(path string) bool                        { return h.a.Stale(path) }
func (h host) Decide(wants ...change.Want) []change.Proposal { return h.a.Decide(wants...) }
func (h host) Listening() []int                              { return h.a.Listening() }
func (h host) Elsewhere(port int) bool                       { return h.a.Elsewhere(port) }

func (h host) Exists(path string) (exists, known bool) {
	return h.a.Exists != nil && h.a.Exists(path), h.a.Exists != nil
}

func (h host) Listens(at string, port int) (listens, known bool) {
	return h.a.Listens != nil && h.a.Listens(at, port), h.a.Listens != nil
}
