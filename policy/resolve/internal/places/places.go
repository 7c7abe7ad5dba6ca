package places

import (
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Places answers what paths mean on a host, before anything is granted: which are sensitive, which
// decide what runs outside of the jail, which belong to mcp-jail, and which are not for one server
// alone. Its answers come from the policy and the host, and it remembers them.
type Places struct {
	lookup

	Builtin       []SensitivePath // the built-in sensitive paths that have a fixed place
	SensitiveDirs []string
	Deciding      []DecidingPath // what decides outside of the jail
	decidingWork  []DecidingPath // those around the workspace: see addDeciding

	unsafe map[string]string // the answers of whyUnsafe
	named  *namedPlaces      // nil before SensitiveAround is asked
}

// New returns the places of a host. It knows neither sensitive paths nor those that decide before
// Collect.
func New(p *policy.Policy, h *hostfs.Host, paths *hostfs.LinkResolver) *Places {
	return &Places{lookup: lookup{p, h, paths}}
}

// Collect lists the sensitive paths and those that decide, once.
func (b *Places) Collect() {
	b.listBuiltin()
	b.collectDeciding()
}

// For returns the places for another policy on the same host.
func (b *Places) For(p *policy.Policy) *Places {
	if p == b.p {
		return b
	}
	other := New(p, b.h, b.paths)
	other.Builtin = b.Builtin
	if p.Default {
		other.collectDeciding()
	}
	return other
}
