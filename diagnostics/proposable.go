package diagnostics

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// proposable removes the grant of a finding that must not be proposed to the user, and gives the
// reason instead. Every finding passes it before its grant is written down.
//
// Invariant: no proposed grant shows a secret, gives the server a hold on what mcp-jail believes,
// or keeps the server from starting.
func proposable(c *facts.Case, f facts.Finding) facts.Finding {
	if f.Grant.IsZero() {
		return f
	}
	if f.Grant.Preset != "" { // it was made to fit
		return f
	}
	if f = paths.NameDenial(c, f); f.Grant.IsZero() {
		return f
	}
	harm, name := harmOf(c, f.Grant)
	switch {
	case revealsSecret(c, f.Grant):
		f.Grant, f.Hint.Warning = grants.Grant{}, ""
		f.Fix = "the name contains the value of a secret variable, which is not shown: grant the directory or domain around it"
	case harm.Never != "":
		return f.Unfixable("mcp-jail does not suggest allowing it: " + harm.Say(name))
	default:
		if err := try(c, []grants.Grant{f.Grant}); err != nil {
			return f.Unfixable("mcp-jail does not suggest allowing it, because the server would not start with it: " + show.Line(strings.ReplaceAll(c.Evidence.Redactor.Redact(err.Error()), "\n", " ")))
		}
	}
	if f.Hint.Warning == "" {
		f.Hint.Warning = harm.Say(name)
	}
	return f
}

// harmOf judges a grant, and returns the shown name of what it is about.
func harmOf(c *facts.Case, n grants.Grant) (h policy.Harm, name string) {
	switch {
	case n.Path != "":
		return paths.HarmOfGrant(c, n), c.Show(n.Path)
	case n.Host != "" && c.Evidence.HarmOfHost != nil:
		return c.Evidence.HarmOfHost(n.NetRule()), show.Name(n.Host)
	case policy.IsDangerousVariable(n.Variable): // for the others see hint
		return policy.HarmOfVariable(n.Variable), show.Name(n.Variable)
	}
	return h, ""
}

func try(c *facts.Case, wanted []grants.Grant) error {
	words := c.Writer.Words(slices.DeleteFunc(slices.Clone(wanted), func(n grants.Grant) bool { return n.Preset != "" }))
	if c.Evidence.Try == nil || c.Evidence.Profile == nil || len(words) == 0 {
		return nil
	}
	return c.Evidence.Try(c.Profile.Tool, words)
}

func revealsSecret(c *facts.Case, n grants.Grant) bool {
	for _, word := range append(c.Writer.Words([]grants.Grant{n}), n.Path, c.Writer.Display(n.Path), n.Endpoint()) {
		if c.Evidence.Redactor.Redact(word) != word {
			return true
		}
	}
	return false
}
