package learncmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/learn"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// load resolves the server as its client starts it. It comes after the first round, which has installed the
// package of the server.
func (l *lesson) load() (err error) {
	if err := os.Chdir(l.t.Dir); err != nil { // a relative path of the entry is meant from there
		return err
	}
	if l.server, err = fromRun(l.t.Argv); err != nil {
		return err
	}
	l.trial, err = newTrial(l.t.Argv)
	return err
}

// input returns what a policy is concluded from.
func (l *lesson) input() (in learn.Input, err error) {
	bare, err := bareProfile(l.server)
	if err != nil {
		return in, err
	}
	host, command := &l.server.Host, session.Given(l.server)
	in = learn.Input{
		Server: l.t.Stored, Command: command[0], Arguments: command[1:],
		Home: canonical(host.Home), Bare: bare, Learning: l.server.Profile, Observations: l.seen,
		Facts: learn.Facts{
			Kind:      l.kind,
			Sensitive: remembered(func(p string) string { return resolve.Sensitive(host, l.server.Policy, p) }),
			Guarded:   l.guarded(),
			Program:   program,
			Secrets:   secretsIn,
		},
		Hosts:     l.named(),
		Stateless: perCall{l}.stateless(),
		Variables: learn.Variables{Granted: l.granted(), Preset: l.ofPreset(), Withheld: bare.Withheld, Mentioned: mentioned(bare)},
	}
	return in, nil
}

func canonical(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// remembered returns a function that asks f for each path once.
func remembered(f func(string) string) func(string) string {
	answers := map[string]string{}
	return func(p string) string {
		answer, ok := answers[p]
		if !ok {
			answer = f(p)
			answers[p] = answer
		}
		return answer
	}
}

func (l *lesson) guarded() func(string, bool) string {
	read := remembered(func(p string) string { return resolve.Guarded(&l.server.Host, p, false) })
	write := remembered(func(p string) string { return resolve.Guarded(&l.server.Host, p, true) })
	return func(p string, writes bool) string {
		if writes {
			return write(p)
		}
		return read(p)
	}
}

func (l *lesson) kind(path string) policy.Kind {
	info, err := l.server.Host.Lstat(path)
	switch {
	case err != nil:
		return 0
	case info.Mode.IsDir():
		return policy.KindDir
	case info.Mode.IsRegular():
		return policy.KindFile
	}
	return policy.KindSpecial
}

func program(name string) string {
	file, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return canonical(file)
}

// ofPreset returns the names of variables that only a preset grants.
func (l *lesson) ofPreset() (names []string) {
	for _, r := range l.server.Policy.Env {
		if r.Read && strings.HasPrefix(r.Where, "preset ") && !slices.Contains(l.env, r.Name) {
			names = append(names, r.Name)
		}
	}
	return names
}

// granted returns the variables that the server gets by name: those of --env, of the entry, and of its preset.
func (l *lesson) granted() (names []string) {
	names = slices.Clone(l.env)
	for _, r := range l.server.Policy.Env {
		if r.Read {
			names = append(names, r.Name)
		}
	}
	return names
}

// findPlace returns where the arguments of a probe come from: the directory that the command line of the
// server names, or else its workspace.
func (l *lesson) findPlace() drive.Place {
	at := drive.Place{Workspace: l.t.Dir, Hosts: l.hosts}
	for _, word := range l.t.Argv[1:] {
		if info, err := os.Stat(word); err == nil && info.IsDir() && filepath.IsAbs(word) {
			at.Workspace = word
			break
		}
	}
	names, _ := os.ReadDir(at.Workspace)
	for _, e := range names {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			at.File = e.Name()
			break
		}
	}
	return at
}

// fromRun resolves the server of a command line of mcp-jail run, whose words begin with run.
func fromRun(argv []string) (*session.Target, error) {
	args, server := cmdline.Split(programs.Main, argv)
	flags, err := cmdline.ParseRun(args)
	if err != nil {
		return nil, exit.UsageErrorf("%s", err)
	}
	return session.Resolve(flags.ConfigFlags, flags.PolicyFlags, flags.Server, "", server)
}

// bareProfile returns the profile of the server with an access table that grants nothing, and no other program.
func bareProfile(t *session.Target) (*policy.Profile, error) {
	p := *t.Policy
	p.Default, p.Fs, p.Net, p.Inbound, p.Env, p.Commands = false, []policy.FsRule{}, []policy.NetRule{}, nil, nil, []policy.CommandRule{}
	bare, _, err := resolve.Resolve(&p, t.Host)
	return bare, err
}

// named returns the names of the hosts that the user lets the server reach.
func (l *lesson) named() (names []string) {
	for _, given := range l.hosts {
		if host, _, err := policy.ParseHostPort(given); err == nil {
			names = append(names, host)
		}
	}
	return names
}
