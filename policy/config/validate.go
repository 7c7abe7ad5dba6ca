package config

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

func (c *Config) validate() (ps policy.Problems) {
	for _, name := range c.ServerNames() {
		ps = append(ps, c.Servers[name].validate()...)
		if n := c.narrowing[name]; n != nil {
			with := *n
			with.Stateful = c.Servers[name].Stateful
			ps = append(ps, with.checkScope("servers."+show.Key(name))...)
		}
	}
	return ps
}

func (s *Server) validate() policy.Problems {
	var ps policy.Problems
	key := "servers." + show.Key(s.Name)
	if s.Command == "" {
		file, line := policy.SplitPosition(s.Where)
		ps = append(ps, policy.Problem{File: file, Line: line, Key: key + ".command", Message: fmt.Sprintf("[%s] has no command", key)})
	}
	return append(ps, s.checkScope(key)...)
}

// checkScope refuses an access table that cannot be applied to any process
// (docs/reference.md "Stateful and stateless").
func (s *Server) checkScope(key string) (ps policy.Problems) {
	if s.IsStateful() {
		for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
			a := s.Tools[name].Access
			if !a.isDeclared() {
				continue
			}
			table := key + ".tools." + show.Key(name) + ".access"
			file, line := policy.SplitPosition(a.Where)
			ps = append(ps, policy.Problem{File: file, Line: line, Key: table, Message: fmt.Sprintf("[%s] cannot be enforced: server %q is stateful.\n"+
				"  The server runs as one shared process, so a policy for one tool cannot be applied.\n"+
				"  Declare access for the whole server in  [%s.access]\n"+
				"  or set  stateful = false  so that each call gets its own process.", table, s.Name, key)})
		}
		return ps
	}
	if s.Access.isDeclared() && !s.Access.saysDefault() {
		table := key + ".access"
		tool := "TOOL"
		if names := slices.Sorted(maps.Keys(s.Tools)); len(names) > 0 {
			tool = show.Key(names[len(names)-1]) // not "*"
		}
		file, line := policy.SplitPosition(s.Access.Where)
		ps = append(ps, policy.Problem{File: file, Line: line, Key: table, Message: fmt.Sprintf("[%s] cannot be enforced: server %q is stateless.\n"+
			"  Each call gets its own process, so there is no process that a policy for the whole server could be applied to.\n"+
			"  Declare access for each tool in  [%s.tools.%s.access]\n"+
			"  or set  stateful = true  so that one process serves the whole session.", table, s.Name, key, tool)})
	}
	return ps
}

// UnusedServer returns warnings about the tables of a server in the system's and the user's file,
// for a command line that gives its own command to a server of that name: no key of these tables
// holds for it. A file with a mistake gives no warning.
func UnusedServer(o LoadOptions, name string) (unused []policy.Warning) {
	layers, err := o.layers()
	if err != nil {
		return nil
	}
	for _, l := range layers {
		if l.project {
			continue
		}
		data, err := o.read(l)
		if err != nil || !bytes.Contains(data, []byte(name)) {
			continue
		}
		if c, ps := decodeLayer(data, l.path); len(ps) == 0 && c.Servers[name] != nil {
			unused = append(unused, policy.Warning{
				Code: "unused-server", Where: c.Servers[name].Where,
				Message: fmt.Sprintf("[servers.%s] is not used, since the command after -- has its policy from flags; to use the table, let the client start: %s", show.Key(name), show.Typed("mcp-jail run", name)),
			})
		}
	}
	return unused
}
