package learncmd

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/learn"
	"github.com/mcp-jail/mcp-jail/presets"
)

// An Adopter puts a preset of a file into force: it becomes the policy of a server in the configuration, after the
// user has seen it. A start never reads such a file.
type Adopter struct {
	File string
	k    learnCmd
}

// AddFlags adds the flags to a command.
func (a *Adopter) AddFlags(cmd *cobra.Command) {
	cli.AddFlags(cmd,
		cmdline.Flag{Name: "apply", Value: "FILE", One: &a.File, Usage: "Give the policy of a preset that another wrote to a server: what it grants is shown, and then asked for."},
		cmdline.Flag{Name: "workspace", Value: "DIR", One: &a.k.flags.Workspace, Usage: "With --apply: the workspace of a command after --. Default: the working directory."},
		cmdline.Flag{Name: "name", Value: "NAME", One: &a.k.flags.Name, Usage: "With --apply: the name of a server that is given after --. Default: that of the preset."})
	a.k.AddFileFlags(cmd)
}

// Servers returns the names that Run takes.
func (a *Adopter) Servers() []string { return a.k.AddNames(nil) }

// ReadPreset reads a preset of a file.
func ReadPreset(file string) (*presets.Preset, error) {
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", show.Line(file))
	}
	if err != nil {
		return nil, exit.ConfigErrorf("%s", show.Line(err.Error()))
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, presets.MaxFile+1))
	if err != nil {
		return nil, err
	}
	if file, err = filepath.Abs(file); err != nil {
		return nil, err
	}
	return presets.Read(text, file)
}

// Run shows what becomes of the server's policy, asks, and writes it.
func (a *Adopter) Run(c terminal.Console, server string, command cmdline.Server) error {
	k := &a.k
	k.Server, k.command, k.applies, k.budget = server, command, true, time.Minute // nothing is started
	k.verb = "preset --apply " + show.Line(a.File)
	switch {
	case server == "" && !command.Given:
		return exit.UsageErrorf("--apply %s: which server gets it? Name one of mcp-jail status, or give its command after --", show.Line(a.File))
	case !c.Asks():
		return exit.UsageErrorf("--apply shows a preset and asks, and there is no terminal to ask on: what another wrote needs a reader")
	}
	p, err := ReadPreset(a.File)
	if err != nil {
		return err
	}
	if k.flags.Name == "" && command.Given {
		k.flags.Name = p.Name
	}
	host, err := hostfs.LocalHost()
	if err := cmp.Or(k.check(), err); err != nil {
		return err
	}
	l := &lesson{learnCmd: k, c: c, host: host, verified: true}
	defer l.close()
	if l.t, err = k.choose(c); err != nil {
		return err
	}
	if err := os.Chdir(l.t.Dir); err != nil { // a relative path of the entry is meant from there
		return err
	}
	args, given := cmdline.Split(programs.Main, l.t.Argv)
	flags, err := cmdline.ParseRun(args)
	if err != nil {
		return err
	}
	flags.Preset = "" // of the entry, in whose place this one comes
	if l.server, err = session.Load(flags.ConfigFlags, flags.PolicyFlags, flags.Server, "", given); err != nil {
		return err
	}
	if err := takePreset(l, p, show.Line(cli.ShortPath(a.File, host.Home))); err != nil {
		return err
	}
	return l.apply()
}

// takePreset makes the preset the policy that apply writes.
func takePreset(l *lesson, p *presets.Preset, from string) error {
	argv := session.Given(l.server)
	start := presets.Start{Argv: argv, Project: l.t.Dir, Through: hostfs.Through}
	if err := p.Fits(start); err != nil {
		why, _, _ := strings.Cut(err.Error(), ". To grant the same")
		return exit.UsageErrorf("%s: %s", from, show.Line(why))
	}
	applied := p.For(session.EntryOf(p, argv, l.server.Host))
	ad := adoption{l: l, preset: p, left: []string{}}
	ad.server(applied)
	name := l.t.Stored
	l.result = &learn.Result{
		Name: name, Command: argv[0], Arguments: argv[1:], Stateful: true, From: "the preset " + p.Name + " of " + filepath.Base(from),
		Tables: []learn.Table{{Rules: ad.rules}},
	}
	l.c.PrintText(fmt.Sprintf("%s is a file of another, and no preset of mcp-jail. Under it, %s %s\n", from, l.name(), l.result.Verdict()))
	for _, o := range applied.Open {
		ad.left = append(ad.left, show.Line(o.String()))
	}
	for _, text := range ad.left {
		l.c.PrintText("  " + l.c.Paint(terminal.Yellow, "left out:") + " " + text + "\n")
	}
	if what := otherThan(p, argv); what != "" {
		l.c.PrintText("  " + l.c.Paint(terminal.Yellow, "note:") + " the file is for " + what + ", and this server is " + show.Name(filepath.Base(argv[0])) + "\n")
	}
	if !p.Stateful {
		l.c.PrintText("  " + l.c.Paint(terminal.Yellow, "note:") + " " + onePolicy + "\n")
	}
	for _, n := range p.Notes {
		l.c.PrintText("  the file says: " + show.Quote(n) + "\n")
	}
	l.c.Printf("\n")
	return nil
}

// onePolicy is said of a preset whose server can have a process for each call.
const onePolicy = "the file says that no call depends on another. A preset has one policy for all tools, and one process serves all calls. A table for each tool, which grants less, is made by mcp-jail learn"

// otherThan returns what a preset is for if a program that a line starts is called otherwise, or "". Of a line that
// starts a package, Fits has said it.
func otherThan(p *presets.Preset, argv []string) string {
	if _, err := runline.Parse(argv); err == nil {
		return ""
	}
	program, names := strings.TrimSuffix(filepath.Base(argv[0]), ".exe"), []string{}
	for _, of := range p.Packages {
		if path.Base(of.Name) == program {
			return ""
		}
		names = append(names, show.Name(of.Name))
	}
	return strings.Join(names, ", ")
}

// An adoption has the rules of a preset that may be taken from another, and says which may not.
type adoption struct {
	l      *lesson
	preset *presets.Preset
	rules  []learn.Rule
	left   []string
}

func (ad *adoption) leave(format string, args ...any) {
	ad.left = append(ad.left, fmt.Sprintf(format, args...))
}

func (ad *adoption) add(axis policy.Axis, what string, r learn.Rule) {
	r.ID, r.Axis, r.Note = string(axis)+":"+what, axis, "from the preset"
	ad.rules = append(ad.rules, r)
}

func (ad *adoption) server(applied presets.Applied) {
	s := applied.Server
	access := cmp.Or(s.Access, &config.Access{})
	for _, r := range access.Fs {
		ad.file(r)
	}
	for _, r := range access.Net {
		if why := ad.whyNotHost(r); why != "" {
			ad.leave("the host %s: %s. By hand: %s", show.Line(r.Host), why, ad.grant("--net", hostAndPort(r)))
			continue
		}
		ad.add(policy.AxisNet, strings.Join(r.TOMLFields(), ","), learn.Rule{Net: &r})
	}
	for _, r := range slices.Concat(s.Variables, access.Env) {
		if strings.Contains(r.Name, "*") {
			ad.leave("the variables %s: a preset of another has to name each one", show.Line(r.Name))
		} else if r.Read {
			ad.add(policy.AxisEnv, r.Name, learn.Rule{Env: &policy.EnvRule{Name: r.Name, Read: true}})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(access.Commands)) {
		for _, r := range access.Commands[name] {
			ad.add(policy.AxisProcess, name, learn.Rule{Command: &r})
		}
	}
	others := *s
	others.Access, others.Variables = nil, nil
	var rest []string
	for line := range strings.Lines(string((&config.Config{Servers: map[string]*config.Server{s.Name: &others}}).Encode())) {
		if key, _, ok := strings.Cut(line, " = "); ok {
			rest = append(rest, key)
		}
	}
	if access.Inbound != nil {
		rest = append(rest, "inbound")
	}
	if access.SensitivePaths != nil {
		rest = append(rest, "sensitive_paths")
	}
	if len(rest) > 0 {
		ad.leave("what it says besides files, hosts, variables and programs (%s)", show.Line(strings.Join(rest, ", ")))
	}
	if len(applied.Env)+len(applied.Args) > 0 {
		ad.leave("the arguments and variables that it adds to the server's start")
	}
}

// file adds a rule for files. One that grants a sensitive path, or far more than a server needs, is left out.
func (ad *adoption) file(r policy.FsRule) {
	writes := r.Rights()&(policy.Write|policy.Execute) != 0
	why := ""
	if r.Rights() != 0 {
		why = taking{&ad.l.server.Host, ad.l.server.Policy, ad.l.t.Dir}.whyNotFile(r, writes)
	}
	if why != "" {
		flag := "--read"
		if writes {
			flag = "--write"
		}
		ad.leave("%s: %s. By hand: %s", show.Line(r.Path), why, ad.grant(flag, r.Path))
		return
	}
	ad.add(policy.AxisFs, r.Path, learn.Rule{Fs: &r})
}

// grant returns the command that grants by hand what is left out.
func (ad *adoption) grant(flag, value string) string {
	return show.Typed("mcp-jail grant", ad.l.t.Stored) + " " + flag + " " + show.Spelled([]string{value})
}

// whyNotHost returns why no preset of another grants a host, or "". A host that the user's own argument, or a variable
// of his environment, names may be one of this machine: but then the preset must not choose the port.
func (ad *adoption) whyNotHost(r policy.NetRule) string {
	isUsers := !filepath.IsAbs(r.Where) // the place of a rule of the file is that file
	chosen := func(v presets.Value) bool { return r.Port != 0 && v.Port == r.Port }
	switch {
	case !r.Allow:
		return ""
	case r.Host == "*":
		return "that is every host"
	case strings.HasPrefix(r.Host, "*.") && strings.Count(r.Host, ".") == 1:
		return "that is every host of a top-level domain"
	case isUsers && !slices.ContainsFunc(ad.preset.Variables, func(v presets.Variable) bool { return chosen(v.Value) }) &&
		!slices.ContainsFunc(ad.preset.Arguments, func(a presets.Argument) bool { return chosen(a.Value) }):
		return ""
	}
	if why := r.SpecialTarget(); why != "" {
		return "it " + why
	}
	if learn.IsLocal(strings.TrimPrefix(r.Host, "*.")) {
		return "that is an address, or a name of this machine or its network"
	}
	return ""
}

func hostAndPort(r policy.NetRule) string {
	if r.Port == 0 {
		return r.Host
	}
	return net.JoinHostPort(r.Host, strconv.Itoa(r.Port))
}
