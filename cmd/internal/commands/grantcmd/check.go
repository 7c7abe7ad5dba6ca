package grantcmd

import (
	"errors"
	"os"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// checked is a policy as a start would have it.
type checked struct {
	target   *session.Target
	host     hostfs.Host // its Dir is where the client starts the server, or ""
	warnings []policy.Warning
	files    error // why a start would refuse its paths
	start    error // why a server with it would not start
}

// check loads the policy that the place has with some flags, as its client starts it. The error is
// about the flags themselves.
func (p *plan) check(flags []string) (now *checked, err error) {
	if p.dir != "" { // relative paths and the workspace start there
		was, err := os.Getwd()
		if err == nil && os.Chdir(p.dir) == nil {
			defer func() { err = errors.Join(err, os.Chdir(was)) }()
		}
	}
	t, err := p.WithFlags(flags).Load(nil)
	if err != nil {
		return nil, err
	}
	return try(t, p.dir), nil
}

// try resolves a target, whose client starts it in a directory, or in "" if only the client knows.
func try(t *session.Target, dir string) *checked {
	now := &checked{target: t, host: t.Host}
	now.host.Dir = dir
	_, now.warnings, now.files = resolve.CheckFiles(t.Policy, now.host)
	if now.start = t.Resolve(); now.start == nil {
		_, now.start = t.Compile()
	} else if t.InstallsAfter(now.start) {
		now.start = nil // its package is not there yet, and the rest cannot be known
	}
	return now
}

// refused returns why the server would not start with other flags, and the warnings that its start
// does not have now.
func (p *plan) refused(now *checked, words []string) (warnings []string, err error) {
	after, err := p.check(p.File.Started(p.Entry, words, p.clients))
	if err != nil {
		return nil, refusal(err)
	}
	return after.since(now)
}

// since returns why a server does not start any more, and the warnings that its start did not have
// before.
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
