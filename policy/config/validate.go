package config

import (
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
	refuse := func(table string, a *Access, format string, args ...any) {
		file, line := policy.SplitPosition(a.Where)
		ps = append(ps, policy.Problem{File: file, Line: line, Key: table, Message: fmt.Sprintf("[%s] cannot be enforced: server %q is ", table, s.Name) + fmt.Sprintf(format, args...)})
	}
	names := slices.Sorted(maps.Keys(s.Tools))
	if s.IsStateful() {
		for _, name := range names {
			if a := s.Tools[name].Access; a.isDeclared() {
				refuse(key+".tools."+show.Key(name)+".access", a, "stateful.\n"+
					"  The server runs as one shared process, so a policy for one tool cannot be applied.\n"+
					"  Declare access for the whole server in  [%s.access]\n"+
					"  or set  stateful = false  so that each call gets its own process.", key)
			}
		}
		return ps
	}
	if s.Access.isDeclared() && !s.Access.saysDefault() {
		tool := "TOOL"
		if len(names) > 0 {
			tool = show.Key(names[len(names)-1]) // not "*"
		}
		refuse(key+".access", s.Access, "stateless.\n"+
			"  Each call gets its own process, so there is no process that a policy for the whole server could be applied to.\n"+
			"  Declare access for each tool in  [%s.tools.%s.access]\n"+
			"  or set  stateful = true  so that one process serves the whole session.", key, tool)
	}
	return ps
}
