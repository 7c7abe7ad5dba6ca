package tried

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Side is a policy, and what it is on this host.
type Side struct {
	Policy  *policy.Policy
	Profile *policy.Profile
}

// Beyond returns what a grants and b does not, in words and each once. home is that of the user.
func Beyond(a, b Side, home string) (more []string) {
	more = append(beyondFiles(a, b, home), beyondHosts(a.Profile.Net, b.Profile.Net)...)
	for _, port := range a.Profile.Inbound {
		if !slices.Contains(b.Profile.Inbound, port) {
			more = append(more, "connections from this host to port "+strconv.Itoa(port))
		}
	}
	return append(append(more, beyondVariables(a.Policy.Env, b.Policy.Env)...), beyondPrograms(a.Policy.Commands, b.Policy.Commands)...)
}

// beyondFiles compares the rights at each path where the rights of one side change: between those paths
// they are the same.
func beyondFiles(a, b Side, home string) (more []string) {
	var paths []string
	for _, p := range []*policy.Profile{a.Profile, b.Profile} {
		for _, e := range p.Entries {
			paths = append(paths, e.Path)
		}
	}
	paths = append(paths, b.Profile.Unprotected...)
	said := map[string]policy.Rights{}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		rights := a.Profile.RightsAt(path) &^ b.Profile.RightsAt(path)
		if b.Profile.Protects(policy.OpWrite, path) && !a.Profile.Protects(policy.OpWrite, path) {
			rights |= a.Profile.RightsAt(path) & policy.Write
		}
		above := path
		for above != filepath.Dir(above) && !said[above].Has(rights) {
			above = filepath.Dir(above)
		}
		if rights != 0 && !said[above].Has(rights) {
			said[path] = rights
			more = append(more, rights.String()+" "+show.Line(path))
		}
	}
	for _, path := range b.Profile.HiddenLater {
		if a.Profile.RightsAt(path).Has(policy.Read) && !a.Profile.HidesLater(path) {
			more = append(more, "read "+show.Line(path)+", once it is there")
		}
	}
	return append(more, beyondLater(a, b, home)...)
}

// beyondLater returns the rules of a for paths that are not there yet.
func beyondLater(a, b Side, home string) (more []string) {
	for _, r := range a.Policy.Fs {
		path := placed(r.Path, a.Profile, home)
		if _, err := filepath.EvalSymlinks(path); err == nil || b.Profile.RightsAt(path).Has(r.Rights()) {
			continue
		}
		if _, found := slices.BinarySearchFunc(a.Profile.Entries, path, func(e policy.Entry, path string) int { return strings.Compare(e.Path, path) }); found {
			continue // it was compared
		}
		if !slices.ContainsFunc(b.Policy.Fs, func(o policy.FsRule) bool { return o.Path == r.Path && o.Rights().Has(r.Rights()) }) {
			more = append(more, r.Rights().String()+" "+show.Line(path)+", once it is there")
		}
	}
	return more
}

// placed returns the absolute path that a rule names.
func placed(path string, of *policy.Profile, home string) string {
	switch rest, ok := strings.CutPrefix(path, "~"); {
	case ok && (rest == "" || rest[0] == '/'):
		return filepath.Join(home, rest)
	case !filepath.IsAbs(path):
		return filepath.Join(of.Dir, path)
	}
	return filepath.Clean(path)
}

func beyondHosts(a, b []policy.NetRule) (more []string) {
	same := func(r, o policy.NetRule) bool { return slices.Equal(r.TOMLFields(), o.TOMLFields()) }
	conditions := func(r policy.NetRule) string {
		r.Host, r.Port = "", 0
		return strings.Join(r.TOMLFields(), " ")
	}
	plain := conditions(policy.NetRule{Allow: true})
	covers := func(r, o policy.NetRule) bool {
		return o.Allow && coversHost(o, r) && (conditions(o) == conditions(r) || conditions(o) == plain && len(r.Secrets) == 0)
	}
	for _, r := range a {
		if r.Allow && !slices.ContainsFunc(b, func(o policy.NetRule) bool { return covers(r, o) }) {
			more = append(more, strings.Join(slices.DeleteFunc(r.TOMLFields(), func(f string) bool { return strings.HasPrefix(f, "allow") }), " "))
		}
	}
	for _, o := range b {
		if !o.Allow && !slices.ContainsFunc(a, func(r policy.NetRule) bool { return same(r, o) }) && slices.ContainsFunc(a, func(r policy.NetRule) bool { return r.Allow && (coversHost(r, o) || coversHost(o, r)) }) {
			more = append(more, "host "+show.TOML(o.Host)+", which the policy in force refuses")
		}
	}
	for i, text := range more {
		more[i] = show.Line(strings.Replace(text, "host = ", "host ", 1))
	}
	return slices.Compact(more)
}

// coversHost reports whether a rule is about every connection that another one is about.
func coversHost(r, of policy.NetRule) bool {
	for _, port := range of.Ports() {
		if !r.Covers(of.Host, port) {
			return false
		}
	}
	return true
}

func beyondVariables(a, b []policy.EnvRule) (more []string) {
	for _, r := range a {
		if !r.Read {
			continue
		}
		by, ok := policy.MatchEnv(b, r.Name)
		if prefix, isPrefix := strings.CutSuffix(r.Name, "*"); isPrefix {
			ok = slices.ContainsFunc(b, func(o policy.EnvRule) bool {
				literal, wide := strings.CutSuffix(o.Name, "*")
				by = o
				return wide && o.Read && strings.HasPrefix(prefix, literal)
			})
			for _, o := range b {
				if refused := !o.Read && strings.HasPrefix(o.Name, prefix); refused && !slices.ContainsFunc(a, func(r policy.EnvRule) bool { return r.Name == o.Name && !r.Read }) {
					ok = false
				}
			}
		}
		if text := "the variable " + show.Line(r.Name); (!ok || !by.Read) && !slices.Contains(more, text) {
			more = append(more, text)
		}
	}
	return more
}

// beyondPrograms compares lists of programs that may be started. nil is any program.
func beyondPrograms(a, b []policy.CommandRule) (more []string) {
	switch {
	case b == nil:
		return nil
	case a == nil:
		return []string{"start any program"}
	}
	for _, r := range a {
		isIn := func(o policy.CommandRule) bool {
			return o.Name == r.Name && (o.Args == nil && o.Envs == nil || slices.Equal(o.TOMLFields(), r.TOMLFields()))
		}
		if text := "start " + show.Line(r.Name); !slices.ContainsFunc(b, isIn) && !slices.Contains(more, text) {
			more = append(more, text)
		}
	}
	return more
}

// some returns the first of some texts, and how many others there are.
func some(texts []string, most int) []string {
	if n := len(texts) - most; n > 0 {
		return append(slices.Clone(texts[:most]), fmt.Sprintf("and %d others", n))
	}
	return texts
}
