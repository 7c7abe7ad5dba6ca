// Package masks takes rights away inside grants: it hides what is sensitive, and keeps what is
// protected from being written.
package masks

import (
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/entries"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/git"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// Given is what masks are made from.
type Given struct {
	Policy   *policy.Policy
	Host     *hostfs.Host
	Paths    *hostfs.LinkResolver
	Places   *places.Places
	Entries  entries.Set      // which the masks change
	Targets  []entries.Target // the rules whose path exists or is made
	Searched map[string]bool  // baseline entries to search for .env files
	Warn     func(code, where, format string, args ...any)
}

// Masks are those of one profile.
type Masks struct {
	p        *policy.Policy
	h        *hostfs.Host
	paths    *hostfs.LinkResolver
	places   *places.Places
	entries  entries.Set
	targets  []entries.Target
	searched map[string]bool
	warn     func(code, where, format string, args ...any)

	Git         *git.Protector
	Unprotected map[string]bool // Profile.Unprotected
	HiddenLater []string        // Profile.HiddenLater
	LinksAstray bool            // Profile.LinksAstray
}

// New returns masks that are not applied yet.
func New(g Given) *Masks {
	m := &Masks{p: g.Policy, h: g.Host, paths: g.Paths, places: g.Places, entries: g.Entries, targets: g.Targets, searched: g.Searched, warn: g.Warn, Unprotected: map[string]bool{}}
	m.Git = git.New(g.Host, g.Paths, git.Calls{Protect: m.protectPath, List: m.list, Writes: g.Entries.GrantsWrite, Warn: func(code, format string, args ...any) {
		g.Warn(code, g.Policy.Where, format, args...)
	}})
	return m
}
