package grantcmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// checked is a policy as a start would have it.
type checked struct {
	target   *session.Target
	placed   []resolve.PlacedRule // which hold in each directory in which the server may be started
	warnings []policy.Warning
	files    error // why a start would refuse its paths
	start    error // why a server with it would not start
}

// load loads the policy that the server has if its file is as given; nil is the one that is there.
func (s *server) load(file *config.ServerFile, tool string) (*session.Target, error) {
	switch {
	case s.line != nil:
		return s.line.LoadWith(file, nil, tool)
	case s.words == nil:
		return session.LoadWith(file, cmdline.ConfigFlags{}, cmdline.PolicyFlags{}, s.Key, tool, cmdline.Server{})
	}
	flags := cmdline.PolicyFlags{}
	if !s.adds {
		flags.ID = s.Key
	}
	return session.LoadWith(file, cmdline.ConfigFlags{}, flags, "", tool, cmdline.Server{Given: true, Argv: s.words})
}

// check is load with what a start makes of it. The error is about the file itself.
func (s *server) check(file *config.ServerFile, tool string) (*checked, error) {
	dir := s.dir
	if dir == "" { // the default policy grants none of it
		dir, _ = os.UserHomeDir()
	}
	defer goTo(dir)()
	t, err := s.load(file, tool)
	if err != nil {
		return nil, err
	}
	t.Policy.Narrow = nil // see takenAway
	now, host := &checked{target: t}, t.Host
	host.Dir = s.dir
	now.placed, now.warnings, now.files = resolve.CheckFiles(t.Policy, host)
	if now.start = t.Resolve(); now.start == nil {
		_, now.start = t.Compile()
	} else if t.InstallsAfter(now.start) {
		now.start = nil // its package is not there yet, and the rest cannot be known
	}
	return now, nil
}

// goTo changes the working directory until the function that it returns is called.
func goTo(dir string) (back func()) {
	was, err := os.Getwd()
	if err != nil || os.Chdir(dir) != nil {
		return func() {}
	}
	return func() { os.Chdir(was) }
}

// takenAway returns what of the grants a trusted project's file takes away where the server starts, or where the user is,
// in words.
func (e *Edit) takenAway(file *config.ServerFile) string {
	defer goTo(cmp.Or(e.dir, e.host.Dir))()
	t, err := e.load(file, e.tool)
	asked, tableErr := e.tableOf(e.asked)
	if err != nil || tableErr != nil || t.Policy.Narrow == nil || e.remove || asked.Access == nil {
		return ""
	}
	a := asked.Access
	where, both, lacks := t.Policy.Narrow.Where, &checked{target: t}, []string{}
	t.Policy = t.Policy.Narrowed()
	both.placed, _, _ = resolve.CheckFiles(t.Policy, t.Host)
	for _, r := range a.Fs {
		if by, denied := both.gives(e.grants.At(r.Path), r.Rights()); r.Rights() != 0 && (by == "" || denied != "") {
			lacks = append(lacks, r.Path)
		}
	}
	for _, r := range a.Net {
		if by, _ := policy.MatchNet(t.Policy.Net, r.Host, "", r.Ports()[0], "", ""); r.Allow && !by.Allow {
			lacks = append(lacks, r.Host)
		}
	}
	for _, r := range a.Env {
		if by, _ := policy.MatchEnv(t.Policy.Env, r.Name); r.Read && !by.Read {
			lacks = append(lacks, r.Name)
		}
	}
	if len(lacks) == 0 {
		return ""
	}
	return fmt.Sprintf("not in force in %s: %s, which you trusted, takes away  %s", show.Line(cli.ShortPath(t.Host.Dir, e.host.Home)), show.Line(cli.ShortPath(where, e.host.Home)), show.Line(strings.Join(lacks, ", ")))
}

// since returns why a server does not start any more, and the warnings that its start did not have before.
func (after *checked) since(now *checked) (warnings []string, err error) {
	for _, w := range after.warnings {
		isSame := func(o policy.Warning) bool { return o.Code == w.Code && o.Message == w.Message }
		if !slices.ContainsFunc(now.warnings, isSame) {
			warnings = append(warnings, w.Message)
		}
	}
	switch {
	case after.files != nil && now.files == nil:
		return nil, refusal(after.files)
	case isNew(after.start, now.start):
		return nil, refusal(after.start)
	case after.start != nil:
		warnings = append(warnings, "the server does not start, with this or without: "+exit.OneLine(after.start))
	}
	return warnings, nil
}

func refusal(err error) error {
	return exit.UsageErrorf("nothing was changed, because the server would not start with it: %s", err)
}

// isNew reports whether a start is refused that was not refused before. What this host cannot
// enforce of any policy is not new.
func isNew(err, before error) bool {
	var gaps *confine.GapError
	switch {
	case err == nil:
		return false
	case before == nil:
		return true
	case errors.As(err, &gaps) && errors.As(before, &gaps):
		return false
	}
	return err.Error() != before.Error()
}

// isSame reports whether two policies come to the same on this host.
func (after *checked) isSame(now *checked) bool {
	a, b := after.target.Profile, now.target.Profile
	if a == nil || b == nil || len(lost(a, b)) > 0 || len(lost(b, a)) > 0 {
		return false
	}
	return config.Digest(withoutFiles(*a)) == config.Digest(withoutFiles(*b))
}

// withoutFiles returns a policy without its files, and without the texts that follow from them.
func withoutFiles(p policy.Profile) policy.Profile {
	p.Entries, p.HomeLinks, p.Reach, p.Unprotected = nil, nil, nil, nil
	p.Env = slices.DeleteFunc(slices.Clone(p.Env), func(v policy.Variable) bool { return v.Name == policy.StatementVar })
	for i := range p.Env {
		p.Env[i].Rule = ""
	}
	return p
}

// lost returns the paths at which a policy gives less than another one.
func lost(than, less *policy.Profile) (paths []string) {
	for _, e := range slices.Concat(than.Entries, less.Entries) {
		if than.RightsAt(e.Path)&^less.RightsAt(e.Path) != 0 {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// gives returns the rule that gives rights at a path in each directory in which the server may be started, or the
// one that denies them.
func (now *checked) gives(path string, rights policy.Rights) (by, denied string) {
	path = real(path)
	for _, r := range now.placed {
		switch {
		case !hostfs.Within(now.target.Host.OS, path, r.At):
		case r.Deny != 0 && (rights == 0 || r.Deny&rights != 0):
			denied = r.Where
		case r.Rights().Has(rights):
			by = r.Where
		}
	}
	return by, denied
}
