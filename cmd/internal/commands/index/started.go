package index

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// started holds the files that start servers: those that the next start would show, and those that earlier starts noted.
type started struct {
	all    []policy.Started
	listed []policy.Started // of servers that never were
	noted  []records.Start
}

// Others returns what the servers are started from, but for that with a key.
func (x *Index) Others(key string) []policy.Started {
	return slices.DeleteFunc(slices.Clone(x.findStarted().all), func(s policy.Started) bool { return s.Key == key && key != "" })
}

// NoteStarted notes for sessions what servers would be started from that never were. Without that a session may show a command
// that grant refuses, and no more.
func (x *Index) NoteStarted() { _ = records.NoteListed(x.Host, x.findStarted().listed) }

func (x *Index) findStarted() *started {
	if x.started != nil {
		return x.started
	}
	x.started = &started{}
	names := map[string]string{}
	for _, s := range x.Servers {
		from, _ := resolve.StartedFrom(x.Host, x.startsIn(s), x.treeOf(s), s.line()) // with an error it has what is known
		from.Key, from.Name = s.Key, s.Name
		if names[s.Key] = s.Name; s.Kept == nil {
			x.started.listed = append(x.started.listed, from)
		}
		x.started.all = append(x.started.all, from)
	}
	var err error
	if x.started.noted, err = records.Starts(x.Host, ""); err != nil {
		x.started.all = append(x.started.all, policy.Started{Err: err})
	}
	for _, n := range x.started.noted {
		if !n.Listed {
			n.Name = cmp.Or(names[n.Key], n.Name)
			x.started.all = append(x.started.all, n.Started)
		}
	}
	return x.started
}

// line returns the words that start a server, or nil if they are not known.
func (s *Server) line() []string {
	if s.Words == nil && s.Table != nil && s.Table.Command != "" {
		return append([]string{s.Table.Command}, s.Table.Arguments...)
	}
	return s.Words
}

// startsIn returns the working directory of a server: as its file says, or in the workspace of its table.
func (x *Index) startsIn(s *Server) string {
	t := &session.Target{Host: x.Host, Policy: &policy.Policy{}}
	t.Host.Dir = x.clientsDir(s)
	switch {
	case s.File != nil && s.File.Server.Directory != policy.StartInWorkspace:
		return t.Expand(s.File.Server.Directory)
	case s.File != nil:
		t.Policy.Workspace = s.File.Server.Workspace
	case s.Table != nil:
		t.Policy.Workspace = s.Table.Workspace
	}
	return t.Expand("")
}

// clientsDir returns where a client starts a server. Where that is not known, it is a directory that no grant opens.
func (x *Index) clientsDir(s *Server) string { return cmp.Or(s.Dir, x.Host.StateDir, "/") }

// treeOf returns the package that is pinned for the line of a server, or "".
func (x *Index) treeOf(s *Server) string {
	if x.Stored == nil || x.Stored.lock == nil {
		return ""
	}
	e := x.Stored.PinOf(s.line())
	if e == nil {
		return ""
	}
	tree, ok := session.PackageStore(x.Host).Lookup(installed.ID(e))
	if !ok {
		return ""
	}
	return tree.Path()
}

// MayChange returns what other servers are started from that a server in a jail may write, one thing of each.
func (x *Index) MayChange(s *Server) (all []policy.Reason) {
	reach, others := x.reachOf(s), x.Others(s.Key)
	for _, w := range reach.Writers {
		for _, at := range slices.Sorted(maps.Keys(w.Rules)) {
			if w.Rules[at].Rights&policy.Write == 0 || w.Rules[at].InHome {
				continue
			}
			for _, r := range resolve.ReasonsOfStarted(&x.Host, at, others) {
				if r.Kind != policy.WhyOtherProgram {
					continue
				}
				written := r.Names[1]
				if !policy.Within(written, at) {
					written = at
				}
				isSame := func(o policy.Reason) bool { return o.Names[0] == r.Names[0] }
				if w.Sum(written, reach.Protected).Rights&policy.Write != 0 && !slices.ContainsFunc(all, isSame) {
					all = append(all, r)
				}
			}
		}
	}
	return all
}

// reachOf returns where a server may write: by its policy, or as its starts have noted.
func (x *Index) reachOf(s *Server) *policy.Reach {
	host, p := x.Host, &policy.Policy{}
	host.Dir = x.clientsDir(s)
	var all []*policy.Policy
	if s.File != nil {
		all = s.File.Policies()
	} else if cfg, err := x.tablesOf(x.Host.Dir); s.Table != nil && err == nil {
		if own, err := cfg.Policy(s.Table.Name, ""); err == nil {
			all = append(own.Others, own)
		}
	}
	for _, o := range all {
		if o.KeptName() == s.Key {
			p.Others = append(p.Others, o)
		}
	}
	for _, n := range x.findStarted().noted {
		if n.Key == s.Key && p.Others == nil {
			p.Noted = append(p.Noted, n.Writes...)
		}
	}
	return resolve.ReachOf(p, host)
}
