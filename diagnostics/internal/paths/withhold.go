package paths

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Harm judges a grant of rights at a path.
func Harm(c *facts.Case, path string, rights policy.Rights) (h policy.Harm) {
	if c.Evidence.Harm != nil {
		h = c.Evidence.Harm(path, rights)
	}
	return h
}

// HarmOfGrant judges a grant by the rights that the server does not have already.
func HarmOfGrant(c *facts.Case, n grants.Grant) (h policy.Harm) {
	if n.Rights&^c.Profile.RightsAt(n.Path)&policy.Write == 0 && !isReserved(c, n.Path) {
		n.Rights &^= policy.Write
	}
	return Harm(c, n.Path, n.Rights)
}

// WriteForbidden tells why no line is proposed that lets a server write to path or below
// it: programs outside the jail run or obey that file, or the jail itself is built from
// it. It returns "" if no reason is known.
//
// Invariant: no proposed rule adds a right to write to such a place. No proposed rule adds
// one to a directory that contains such a place, except in the workspace, where the policy
// keeps protected names out of every grant.
func WriteForbidden(c *facts.Case, path string) string {
	entry, _ := c.Profile.Find(path)
	switch {
	case filepath.Base(path) == ".git" && c.Exists(path+"/.") == facts.Present && !c.Profile.InGitInternals(path):
		// The protected names in it stay protected.
	case entry.Origin == policy.OriginProtected, c.Profile.InGitInternals(path), policy.HasProtectedName(path):
		return c.Show(path) + " is a protected name: programs outside of the jail run or trust what is written there"
	case isServerProgram(c, path):
		return c.Show(path) + " is a file that the server is started from"
	case c.IsSystem(path) && entry.Rights.Has(policy.Execute) && !isServerPackage(c, path):
		return c.Show(path) + " belongs to the system"
	}
	if h := Harm(c, path, policy.Write); h.Never != "" {
		return h.Say(c.Show(path))
	}
	if place := programIn(c, path); place != "" {
		return c.Show(path) + " holds " + c.Show(place) + ", which the server is started from"
	}
	return ""
}

func inUserHome(c *facts.Case, path string) bool {
	return c.Evidence.UserHome != "" && c.Evidence.UserHome != "/" && policy.Within(path, c.Evidence.UserHome)
}

func isServerProgram(c *facts.Case, path string) bool {
	p := c.Profile
	if path == p.Program || slices.Contains(p.Programs, path) || slices.Contains(p.Loaders, path) {
		return true
	}
	return slices.ContainsFunc(p.Parts, func(part policy.Part) bool {
		return !part.Work && (path == part.Path || !inWorkspace(c, path) && policy.Within(path, part.Path))
	})
}

func isServerPackage(c *facts.Case, path string) bool {
	return slices.ContainsFunc(c.Profile.Parts, func(part policy.Part) bool { return part.Work && policy.Within(path, part.Path) })
}

func programIn(c *facts.Case, dir string) string {
	if inWorkspace(c, dir) {
		return ""
	}
	if c.Profile.Program != "" && policy.Within(c.Profile.Program, dir) {
		return c.Profile.Program
	}
	for _, part := range c.Profile.Parts {
		if policy.Within(part.Path, dir) && part.Path != "" {
			return part.Path
		}
	}
	return ""
}

// Withhold removes a grant that must not be proposed and gives the reason instead. Text of
// a server without a record of the jail never leads to a grant for secrets.
func Withhold(c *facts.Case, f facts.Finding, dials bool) facts.Finding {
	n := f.Grant
	if n.Path == "" {
		return f
	}
	why := ""
	if !dials && (n.Rights&^c.Profile.RightsAt(n.Path)&policy.Write != 0 || n.Rights&policy.Write != 0 && isReserved(c, n.Path)) {
		why = WriteForbidden(c, n.Path)
	}
	// The server chooses its words: they lead to no key. A .env is its project's.
	named := f.Hint.Attribution != report.Certain && !strings.HasPrefix(filepath.Base(n.Path), ".env")
	if why == "" && (named || dials) && IsSensitive(c, n.Path) {
		if dials {
			return f.Unfixable(notSuggested + ": behind that socket keys are used")
		}
		f.Hint.Cause = c.Who() + " probably looked for " + c.Show(f.Hint.Target) + ". The jail hides keys and passwords"
		f.Hint.Whole = true
		return f.Unfixable(notSuggested + ": a server that gets this can use it as you")
	}
	if why == "" {
		return f
	}
	return f.Unfixable(notSuggested + ": " + why)
}

// notSuggested begins the reason why a grant is not proposed.
const notSuggested = "mcp-jail does not suggest allowing it"

// IsSensitive reports whether path holds keys, tokens or passwords, or is a directory of
// them.
func IsSensitive(c *facts.Case, path string) bool {
	h := Harm(c, path, policy.Read)
	return h.Secret && h.Never == ""
}
