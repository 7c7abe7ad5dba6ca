// Package masks takes rights away inside grants: it hides what is sensitive, and keeps what is
// protected from being written.
package masks

import (
	"io/fs"
	"path"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/entries"
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
	// Names reports whether a rule names the denial at a canonical path, which is also written otherwise.
	Names func(n entries.Target, denial string, written []string) bool
}

// A Stop is a built-in denial: rights from above stop there.
type Stop struct {
	Takes   policy.Rights // AllRights of a sensitive path, Write of a protected name
	Written string        // for messages
	Abs     []string      // its paths before links are followed
}

// Masks are those of one profile.
type Masks struct {
	Given

	Stops       map[string]*Stop // by their canonical paths
	Git         *Git
	Unprotected map[string]bool // Profile.Unprotected
	LinksAstray bool            // Profile.LinksAstray
}

// New returns masks that are not applied yet.
func New(g Given) *Masks {
	m := &Masks{Given: g, Stops: map[string]*Stop{}, Unprotected: map[string]bool{}}
	m.Git = &Git{Masks: m, settings: map[string][]setting{}, done: map[[2]string]bool{}}
	return m
}

// stopNames finds the denials around the rules themselves. A link may have led a rule there, and then no
// search begins above it.
func (b *Masks) stopNames() {
	patterns, granted := b.Places.Patterns(), policy.Profile{Entries: b.Entries.Sorted()}
	for _, n := range b.Targets {
		if b.Entries[n.Canonical].Kind == policy.KindSpecial && b.Paths.Lstat(n.Canonical).Info.Mode&fs.ModeSocket != 0 {
			b.stop(n.Canonical, n.Canonical, HostSocket, policy.AllRights)
		}
		for p := n.Canonical; p != path.Dir(p); p = path.Dir(p) {
			for _, pattern := range patterns {
				if pattern.Matches(path.Dir(p), path.Base(p)) {
					b.stop(p, p, pattern.Text, policy.AllRights)
				}
			}
			if below, protected := policy.ProtectedParts(path.Base(p)); protected && below == nil && !granted.InPackage(p) {
				b.stop(p, p, path.Base(p), policy.Write)
			}
		}
	}
}

// leadsInto reports whether a rule grants something to write at a path or in it.
func (b *Masks) leadsInto(p string) bool {
	return slices.ContainsFunc(b.Targets, func(n entries.Target) bool { return n.Rule.Rights()&policy.Write != 0 && policy.Within(n.Canonical, p) })
}

func (b *Masks) stop(at, abs, written string, takes policy.Rights) {
	s := b.Stops[at]
	if s == nil {
		s = &Stop{}
		b.Stops[at] = s
	}
	if s.Takes |= takes; s.Written == "" || takes == policy.AllRights {
		s.Written = written
	}
	s.Abs = append(s.Abs, abs)
}
