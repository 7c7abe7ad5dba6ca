package grantcmd

import (
	"errors"
	"os"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// checked is a policy as a start would have it.
type checked struct {
	tool     string // whose it is; "" is the whole server
	target   *session.Target
	placed   []resolve.PlacedRule // which hold in each directory in which the server may be started
	warnings []policy.Warning
	files    error // why a start would refuse its paths
	start    error // why a server with it would not start
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
	now, host := &checked{tool: tool, target: t}, t.Host
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

// said are the codes of the warnings that the change itself says.
var said = []string{"sensitive-granted", "useless-rule"}

// since returns why a server does not start any more, and the other warnings that its start did not have before.
func (after *checked) since(now *checked) (warnings []string, err error) {
	for _, w := range after.warnings {
		isSame := func(o policy.Warning) bool { return o.Code == w.Code && o.Message == w.Message }
		if !slices.Contains(said, w.Code) && !slices.ContainsFunc(now.warnings, isSame) {
			warnings = append(warnings, w.Message)
		}
	}
	switch {
	case after.files != nil && now.files == nil:
		return nil, refusal(after.files)
	case isNew(after.start, now.start):
		return nil, refusal(after.start)
	case after.start != nil:
		warnings = append(warnings, "the server does not start, with this or without: "+terminal.OneLine(after.start))
	}
	return warnings, nil
}

func refusal(err error) error {
	return terminal.UsageErrorf("nothing was changed, because the server would not start with it: %s", err)
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

// gives returns the rule that gives rights at a path in each directory in which the server may be started, or the
// one that denies them.
func (now *checked) gives(path string, rights policy.Rights) (by, denied string) {
	path = session.ResolveLinks(path)
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
