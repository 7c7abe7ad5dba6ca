package session

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// Session returns the lifecycle session that begins with a target.
func (f *Followed) Session(c terminal.Console, launcher confine.Launcher) lifecycle.Session {
	t := f.Target()
	s := lifecycle.Session{
		Profile: t.Profile,
		Known: diagnostics.Evidence{
			FromCommandLine: t.Policy.FromCommandLine,
			InstallScripts:  t.Package.scriptsCommand(),
			Preset:          fittingPreset(t),
			Unset:           t.Policy.Unset(t.Profile),
			StartDir:        t.Host.Dir,
			UserHome:        t.Host.Home,
			SearchPath:      os.Getenv("PATH"),
			Logins:          func() string { return FindEarlier(t).Logins() },
			Variable:        variable,
			Exists:          pathExists,
			May:             mayUse,
			Listens:         confine.HostListens(),
			Canonical:       resolveLinks,
			Try:             func(tool string, words []string) error { return f.Target().Attempt(tool, words) },
		},
		Launcher: lifecycle.LauncherFunc(func(ctx context.Context, p *policy.Profile, stdio confine.Stdio) (lifecycle.Process, error) {
			return f.start(ctx, launcher, p, func(l confine.Launcher, p *policy.Profile) (*confine.Process, error) { return l.Start(ctx, p, stdio) })
		}),
		Earlier:  records.Reader(t.Host, t.Policy.KeptName()),
		Warnings: warningLines(t),
	}
	if c.ErrIsTerminal() { // a client's log is easier to search with whole lines
		s.Fold = c.FoldMessages
	}
	s.Known.Harm, s.Known.HarmOfHost, s.Known.Shared = judges(t)
	s.In, s.Out, s.Err = c.Raw()
	s.Changed = f.keeping.Changes
	return s
}

// start starts a process of the session by launch. It keeps what the process changes, if the policy
// has undo. A jail that the session asks for records refused reads.
func (f *Followed) start(ctx context.Context, launcher confine.Launcher, p *policy.Profile, launch func(confine.Launcher, *policy.Profile) (*confine.Process, error)) (lifecycle.Process, error) {
	t := f.Target()
	launcher.CertainReads = launcher.CertainReads || lifecycle.CertainReads(ctx)
	launcher.BeforeExec = func(ctx context.Context) error {
		err := f.Target().Package.Check(ctx)
		if err != nil {
			err = &lifecycle.DiagnosedError{Diagnosis: t.diagnosisOf(t.Policy.Server, err), ExitStatus: exit.Status(err)}
		}
		return err
	}
	start := func(l confine.Launcher) (*confine.Process, error) {
		return f.Target().Start(ctx, p, func(p *policy.Profile) (*confine.Process, error) { return launch(l, p) })
	}
	return f.keep(p, launcher, start)
}

// keep starts a process, and keeps what it changes if its policy has undo.
func (f *Followed) keep(p *policy.Profile, launcher confine.Launcher, start func(confine.Launcher) (*confine.Process, error)) (lifecycle.Process, error) {
	if p.Undo.On() {
		return f.keeping.Start(p, launcher, start)
	}
	started, err := start(launcher)
	if err != nil {
		return nil, err
	}
	if err := confine.Undumpable(); err != nil {
		started.Kill()
		return nil, err
	}
	return started, nil
}

// warningLines returns the warnings of a start; the first one also says that a line is not pinned. A grant in a
// server's file of what does not exist is none: grant has said so, and the path may come and go. A denial of what
// does not exist stays one.
func warningLines(t *Target) (texts []string) {
	servers := filepath.Join(t.Host.ConfigDir, config.ServersDir)
	for i, w := range t.WarningTexts() {
		if i < len(t.Warnings) && t.Warnings[i].Code == "missing-path" && strings.HasPrefix(t.Warnings[i].Where, servers) && strings.Contains(w, "it grants nothing") {
			continue
		}
		texts = append(texts, "warning: "+w)
	}
	if why := t.Package.notPinned(); why != "" && records.ReadAbout(t.Host, t.Policy.KeptName()).Command == nil {
		texts = append(texts, "warning: "+show.Line(why))
	}
	return texts
}

// StatelessOptions returns the options of a stateless server. Each of its calls gets a process.
func (f *Followed) StatelessOptions() lifecycle.Stateless {
	t := f.Target()
	server := t.Policy.Server
	tools := &toolCache{}
	o := lifecycle.Stateless{
		Declared: func() []string { return f.Target().Config.DeclaredTools(server) },
		Version:  programs.Version(),
		Tool: func(name string) (lifecycle.Tool, error) {
			tool, err := tools.get(f.Target(), name)
			if err != nil {
				return lifecycle.Tool{}, err
			}
			return lifecycle.Tool{Profile: tool.Profile, Unset: tool.Policy.Unset(tool.Profile), Warnings: warningLines(tool)}, nil
		},
		Warm: func(name string) int {
			p, err := f.Target().PolicyOf(name)
			if err != nil {
				return 0
			}
			return p.Warm
		},
	}
	if t.Host.CacheDir != "" {
		o.Lists = filepath.Join(t.Host.CacheDir, "catalog")
	}
	return o
}
