package inspect

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// leaks writes which secrets are looked for in the messages of the server. Without secrets it
// writes nothing.
func (page *planPage) leaks() {
	p := page.target.Profile
	sought, others := leak.Sought(p.Env)
	var names, lines []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, s := range sought {
		add(s.Name)
	}
	if p.LeakPatterns {
		add("tokens of well-known kinds (leak_patterns)")
	}
	switch {
	case p.Leaks == policy.LeaksOff:
		if len(names) > 0 {
			lines = append(lines, `not looked for in what the server sends, since leaks is "off": `+strings.Join(names, ", "))
		}
		others = nil
	case len(names) > 0 && p.Leaks == policy.LeaksBlock:
		lines = append(lines, "refused in what the server sends: "+strings.Join(names, ", "))
	case len(names) > 0:
		lines = append(lines, "a warning if the server sends it: "+strings.Join(names, ", "))
	}
	for _, o := range others {
		lines = append(lines, "not looked for: "+o.Name+", since "+o.Why)
	}
	page.section("leaks", terminal.Bold, lines)
}
