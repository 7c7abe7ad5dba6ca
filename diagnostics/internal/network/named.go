package network

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
)

// Given returns the findings about the hosts that the server's own arguments and variables name, and
// that the policy does not grant. It leaves out the loopback, on which the jail tells more.
func Given(c *facts.Case) (all []facts.Finding) {
	add := func(value, where string) {
		for _, n := range words.Hosts(value) {
			if IsLoopback(n.Text) || slices.ContainsFunc(all, func(f facts.Finding) bool { return f.Grant.Host == n.Text }) {
				continue
			}
			if f := Named(c, n); f.Refused {
				f.Hint.Cause = "the host " + c.Name(words.Endpoint(n.Text, n.Port)) + ", which " + where + ", is not granted"
				all = append(all, f)
			}
		}
	}
	args := c.Profile.Argv[min(1, len(c.Profile.Argv)):]
	for i, arg := range args {
		if i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "=") {
			arg = args[i-1] + "=" + arg // --host db.example
		}
		add(arg, "the server's arguments name")
	}
	variables := c.GrantedVariables()
	for _, v := range variables {
		value := v.Name + "=" + v.Value
		for _, o := range variables { // DB_PORT beside DB_HOST
			if base, is := strings.CutSuffix(v.Name, "HOST"); is && o.Name == base+"PORT" {
				value += ":" + o.Value
			}
		}
		add(value, "the variable "+v.Name+" names")
	}
	return all
}
