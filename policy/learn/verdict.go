package learn

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// maxNamed is how many names of one kind a verdict has.
const maxNamed = 3

// Verdict says in a sentence without its end what the server does, and what was refused: "reads the
// workspace, reaches api.github.com, starts git; wanted ~/.ssh (refused)".
func (r *Result) Verdict() string {
	var reads, writes, hosts, programs, variables, secrets []string
	for _, rule := range r.Rules() {
		switch {
		case rule.Fs != nil:
			what := name(rule.Fs.Path)
			if rule.Fs.Path == "." {
				what = "the workspace"
			}
			if rule.Fs.Rights()&policy.Write != 0 {
				writes = append(writes, what)
			} else {
				reads = append(reads, what)
			}
		case rule.Net != nil:
			if !slices.Contains(hosts, rule.Net.Host) {
				hosts = append(hosts, rule.Net.Host)
			}
			for _, s := range rule.Net.Secrets {
				secrets = append(secrets, name(s.Env)+" to "+rule.Net.Host)
			}
		case rule.Command != nil:
			programs = append(programs, name(path.Base(rule.Command.Name)))
		case rule.Env != nil:
			variables = append(variables, name(rule.Env.Name))
		}
	}
	parts := []string{}
	for _, p := range []struct {
		verb  string
		names []string
	}{{"reads ", reads}, {"writes ", writes}, {"reaches ", hosts}, {"starts ", programs}, {"gets " + theVariable(variables), variables}, {"sends " + theVariable(secrets), secrets}} {
		if len(p.names) > 0 {
			parts = append(parts, p.verb+some(p.names))
		}
	}
	text := strings.Join(parts, ", ")
	if text == "" {
		text = "needs nothing beyond its own program"
	}
	if refused := r.refused(); len(refused) > 0 {
		text += "; wanted " + some(refused) + " (refused)"
	}
	return text
}

func theVariable(names []string) string {
	if len(names) == 1 {
		return "the variable "
	}
	return "the variables "
}

// some writes the first of some names, which are quoted already where it is necessary.
func some(names []string) string {
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += " and " + count(more, "more", "more")
	}
	return text
}

// refused returns what the server wanted and must not have, by its kind.
func (r *Result) refused() (names []string) {
	for _, reason := range []Reason{Sensitive, Protected, Socket, Address, Telemetry} {
		for _, u := range r.Unlearned {
			what := name(u.Target)
			if reason == Sensitive {
				what = name(u.Why)
			} else if reason != Address && reason != Telemetry {
				what = name(r.short(u.Target))
			}
			if u.Reason == reason && !slices.Contains(names, what) {
				names = append(names, what)
			}
		}
	}
	return names
}
