package session

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/identity"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Attempt returns why the server, or one of its tools, would not start after mcp-jail grant with some words, or nil if
// it does not start without them either.
func (t *Target) Attempt(tool string, words []string) error {
	if t.source.with == nil {
		return nil
	}
	file, err := t.granted(tool, words)
	if err == nil {
		err = t.starts(tool, file)
	}
	if err != nil && !isNew(err, t.starts(tool, nil)) {
		return nil
	}
	return err
}

// granted returns the file of the server with what words grant.
func (t *Target) granted(tool string, words []string) (*config.ServerFile, error) {
	flags, err := cmdline.ParseRun(append([]string{"run"}, words...))
	if err != nil {
		return nil, err
	}
	in := t.Host // where relative paths of the file start
	in.Dir = cmp.Or(t.Profile.Workspace, in.Dir)
	g := config.Grants{Tool: tool, Only: !identity.IsID(t.source.options.ID), At: func(path string) string { return expand(path, in) }}
	if g.Table, err = flags.Options(nil).Table(); err != nil {
		return nil, err
	}
	file, err := ownFile(t)
	if err != nil {
		return nil, err
	}
	narrower, err := g.AddTo(file.Server)
	if err != nil {
		return nil, err
	}
	for _, r := range narrower {
		g.Drop(file.Server, r)
	}
	return file.Checked()
}

// ownFile returns a copy of the file of the server, or a new one.
func ownFile(t *Target) (*config.ServerFile, error) {
	id := cmp.Or(t.source.options.ID, t.Policy.Server)
	file, err := config.FindServerFile(t.Host.ConfigDir, id)
	if errors.As(err, new(*config.UnknownIDError)) {
		s := &config.Server{Name: t.Policy.Server, ID: id}
		if t.Policy.FromCommandLine {
			s.Command, s.Arguments = t.Policy.Command, t.Policy.Arguments
		}
		if stateful := t.Policy.Stateful; !stateful {
			s.Stateful = &stateful
		}
		return &config.ServerFile{Path: filepath.Join(t.Host.ConfigDir, config.ServersDir, t.Policy.Server+".toml"), Server: s}, nil
	}
	if err != nil {
		return nil, err
	}
	return file.Checked()
}

// isNew reports whether err is more than what was there before. What this host cannot enforce of any
// policy does not count: a running mcp-jail cannot find that out again.
func isNew(err, before error) bool {
	var gaps, known *confine.GapError
	switch {
	case err == nil || before != nil && !errors.As(before, &known):
		return false
	case !errors.As(err, &gaps):
		return true
	}
	return slices.ContainsFunc(gaps.Gaps, func(g confine.Gap) bool {
		// Without namespaces no port leads in, and a running mcp-jail does not know whether it can have them.
		if known != nil && known.HostNamespaces.Answer == confine.No && g.Axis == policy.AxisNet {
			return false
		}
		return known == nil || !slices.ContainsFunc(known.Gaps, func(k confine.Gap) bool {
			return k.Axis == g.Axis && holds(k) == holds(g) && slices.Equal(k.Paths, g.Paths)
		})
	})
}

// holds returns what a gap does not hold. Of a limit that is without the number, which a line may raise.
func holds(g confine.Gap) string {
	if g.Axis == policy.AxisLimits {
		what, _, _ := strings.Cut(g.What, " = ")
		return what
	}
	return g.What
}

// starts returns why a server whose file is as given could not be resolved on this host, or not enforced by this
// kernel. nil is the file that is there.
func (t *Target) starts(tool string, file *config.ServerFile) error {
	with, err := t.source.with(tool, file)
	if err != nil {
		return err
	}
	t.Package.use(with.Policy)
	profile, _, err := resolve.Resolve(with.Policy, t.Host)
	if err != nil {
		return err
	}
	_, err = (confine.Launcher{}).Compile(profile)
	return err
}
