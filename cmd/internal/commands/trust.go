package commands

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/inspect"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

type trustCmd struct {
	file        string
	format      string
	remove, yes bool
	result      trustResult
}

// trustResult is what trust has done, and what the file gives.
type trustResult struct {
	File     string          `json:"file"`
	SHA256   string          `json:"sha256,omitempty"`
	Accepted bool            `json:"accepted"`
	Servers  []trustedServer `json:"servers"`
	Warnings []string        `json:"warnings"`
}

type trustedServer struct {
	Server  string   `json:"server"`
	Starts  []string `json:"starts,omitempty"` // of a server that the file declares
	Changes []string `json:"changes"`
}

// trust returns the command trust.
func trust(line *cli.CommandLine) *cobra.Command {
	t := &trustCmd{}
	cmd := line.Command("trust [options] [FILE]", 1, false, func(args []string) error {
		t.file = cli.FirstOf(args)
		t.result.Servers, t.result.Warnings = []trustedServer{}, []string{}
		return cli.WithResult(line.Console, t.format, &t.result, t.run)
	})
	cmd.Long = `FILE is a policy file. Without it, trust takes .mcp-jail.toml in the working directory.

A project's policy file has no effect until you have accepted it. trust prints the
file, then what each server that it declares may use, and what it takes away from
your own servers. Then it asks. A file that has changed since must be accepted
again. Programs that the file names are not part of it: they get what the file
allows, also when they change.`
	cmd.Example = `    mcp-jail trust
    mcp-jail trust --remove`
	cli.AddFlags(cmd, cli.FormatFlag(&t.format))
	cmd.Flags().BoolVar(&t.remove, "remove", false, "No longer accept the file")
	cmd.Flags().BoolVar(&t.yes, "yes", false, "Accept without asking, for scripts")
	return cmd
}

func (t *trustCmd) run(c terminal.Console) error {
	file, err := policyFilePath(t.file)
	t.result.File = file
	switch {
	case err != nil:
		return err
	case t.remove && t.yes:
		return terminal.UsageErrorf("--remove does not ask, so --yes is not for it")
	case t.remove:
		return remove(c, file)
	}
	return t.accept(c, file)
}

func policyFilePath(file string) (string, error) {
	if file != "" {
		return session.AbsolutePath(file)
	}
	dir, err := os.Getwd()
	return filepath.Join(dir, config.ProjectFile), err
}

func remove(c terminal.Console, file string) error {
	if _, err := hostfs.LocalHost(); err != nil {
		return err
	}
	err := config.TrustStore{}.Untrust(file)
	if errors.Is(err, fs.ErrNotExist) {
		c.Printf("%s was not accepted before. Nothing was changed.\n", file)
		return nil
	}
	if err == nil {
		c.Printf("%s is no longer accepted. Servers that need it do not start.\n", file)
	}
	return err
}

// accept reads the file once. It prints, and accepts, the same bytes.
func (t *trustCmd) accept(c terminal.Console, file string) error {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return terminal.UsageErrorf("%s is a folder. Name the file:\n  %s", file, show.Typed("mcp-jail trust", filepath.Join(file, config.ProjectFile)))
	}
	data, err := config.ReadConfigFile(file)
	if err != nil {
		return terminal.ConfigErrorf("%s", session.WithoutOperation(err))
	}
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	if filepath.Base(file) == config.ProjectFile {
		host.Dir = filepath.Dir(file) // where its servers start
	}
	all, warnings, err := changesOf(file, data, host)
	if err != nil {
		return fmt.Errorf("the file is not accepted, because it cannot be used:\n%w", err)
	}
	c.Printf("%s\n", show.Lines(strings.ReplaceAll(string(data), "\r\n", "\n"))) // what hides or reorders text becomes visible
	var said []string
	for _, w := range warnings {
		said = append(said, w.String())
		t.result.Warnings = append(t.result.Warnings, w.String())
		if slices.ContainsFunc(all, func(s serverChange) bool { return s.tells(w) }) {
			continue
		}
		c.PrintText(c.Paint(terminal.Yellow, "warning:") + " " + terminal.ShortHome(show.Line(w.String()), host.Home) + "\n")
	}
	c.PrintText(summary(c, all, said, host) + beware(all, host))
	for _, s := range all {
		t.result.Servers = append(t.result.Servers, trustedServer{s.Server, terminal.ShownWords(s.Starts), cli.NonNil(s.Texts)})
	}
	// What was not shown as a whole cannot have been read.
	if c.WriteErr != nil && *c.WriteErr != nil {
		return fmt.Errorf("%s is not accepted, because it could not be printed completely", file)
	}
	if err := t.confirm(c, file); err != nil {
		return err
	}
	if err := (config.TrustStore{}).Trust(file, data); err != nil {
		return fmt.Errorf("%s is not accepted, because this cannot be stored: %w", file, err)
	}
	for _, s := range all {
		if p, err := s.cfg.Policy(s.Server, ""); err == nil && s.Starts != nil {
			session.LogGrant(c, host, p, "trust", false, []string{file})
		}
	}
	if filepath.Base(file) != config.ProjectFile {
		c.Printf("%s only a file named %s is used in a project. One that --config names needs no trust.\n", c.Paint(terminal.Yellow, "warning:"), config.ProjectFile)
	}
	t.result.Accepted, t.result.SHA256 = true, fmt.Sprintf("%x", sha256.Sum256(data))
	c.Printf("Accepted: %s\n(SHA-256 %s)\n", file, t.result.SHA256)
	return nil
}

func (t *trustCmd) confirm(c terminal.Console, file string) error {
	switch {
	case t.yes:
		return nil
	case !c.Asks():
		return terminal.UsageErrorf("%s is not accepted: trust asks, and there is no terminal. In a script, after you have read the file:\n  %s", file, show.Typed("mcp-jail trust --yes", file))
	}
	yes, err := cli.AskYes(c, "Accept "+file+"?", file+" is not accepted")
	if err == nil && !yes {
		return &terminal.DeclinedError{}
	}
	return err
}

// screenLines is the length from which a summary says how long it is.
const screenLines = 20

// summary says what each server of a file may use, and what your own lose, without the warnings that were said before. It is
// printed last, so that it stays on the screen.
func summary(c terminal.Console, all []serverChange, said []string, host hostfs.Host) string {
	var b strings.Builder
	for _, s := range all {
		b.WriteString(s.text(c, said, host) + "\n")
	}
	if all == nil {
		b.WriteString("This file declares no server, and takes nothing away from yours.\n\n")
	}
	if n := strings.Count(b.String(), "\n"); n > screenLines {
		fmt.Fprintf(&b, "These are %d lines about %s. Read them from the beginning.\n\n", n, cli.Plural(len(all), "server"))
	}
	return b.String()
}

// serverChange is what a file makes of one server.
type serverChange struct {
	config.ServerChange
	cfg       *config.Config    // with the file
	proposals []change.Proposal // what a server that the file declares would get
}

func (s serverChange) text(c terminal.Console, said []string, host hostfs.Host) string {
	name := show.Name(s.Server)
	switch {
	case s.Starts == nil && s.Texts == nil:
		return "This file takes nothing away from your own server " + name + ".\n"
	case s.Starts == nil:
		return "This file takes away from your own server " + name + ":\n" + s.texts()
	}
	title := "This file declares the server " + name + ". It may use this:\n\n"
	careful := ""
	for _, text := range s.because(change.Ask, host) {
		careful += "  careful: " + text + "\n"
	}
	r, err := inspect.ReportOf(session.Configured(host, s.cfg, s.Server, nil))
	if err == nil {
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return slices.Contains(said, w) })
		return title + r.Text(c, false) + careful
	}
	// What it would get where it can start, rule by rule.
	return title + name + "\n  arguments       " + terminal.ShownLine(s.Starts) + "\n  It does not start now: " + show.Lines(err.Error()) + "\n" + s.texts() + careful
}

// because says what speaks against the proposals with a verdict.
func (s serverChange) because(v change.Verdict, host hostfs.Host) (all []string) {
	for _, p := range s.proposals {
		if text := show.Line(p.Because(terminal.ShortHome(p.Object.Name(), host.Home))); p.Verdict() == v && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// tells reports whether beware says what a warning about a sensitive path does.
func (s serverChange) tells(w policy.Warning) bool {
	return w.Code == "sensitive-granted" && slices.ContainsFunc(s.proposals, func(p change.Proposal) bool {
		return p.Object.Fs.Where == w.Where && p.Is(policy.WhySensitive, policy.WhyLogin)
	})
}

// beware says directly above the question what each server would get that grant asks for apart, and what comes of all of it
// together.
func beware(all []serverChange, host hostfs.Host) (lines string) {
	for _, s := range all {
		for _, text := range slices.Concat(s.because(change.Never, host), s.because(change.Cannot, host), s.because(change.Apart, host)) {
			lines += "careful: " + show.Name(s.Server) + ": " + text + "\n"
		}
		if both := change.Together(show.Name(s.Server), s.proposals); both != "" {
			lines += "careful: " + both + "\n"
		}
	}
	return lines
}

func (s serverChange) texts() (lines string) {
	for _, text := range s.Texts {
		lines += "  " + show.Line(policy.Abbreviate(text)) + "\n"
	}
	return lines
}

// fileWarnings returns the warnings about the paths of a server that it does not have without the
// file: those of sensitive paths, as check gives them, and those of what the file does not get.
func fileWarnings(before, after *config.Config, s config.ServerChange, host hostfs.Host) (ws []policy.Warning) {
	warnings := func(cfg *config.Config) (out []policy.Warning) {
		if cfg == nil || cfg.Servers[s.Server] == nil {
			return nil
		}
		policies, _ := cfg.Processes(s.Server) // config.Changes has the error
		for _, p := range policies {
			_, found, err := resolve.CheckFiles(p, host)
			if err == nil && p.Narrow != nil {
				var more []policy.Warning
				_, more, err = resolve.CheckFiles(p.Narrowed(), host)
				found = append(found, more...)
			}
			if err != nil {
				found = append(found, policy.Warning{Code: "rule", Message: "this server will not start: " + err.Error(), Where: p.Where})
			}
			out = append(out, found...)
		}
		return out
	}
	had := warnings(before)
	for _, w := range warnings(after) {
		if !slices.Contains(had, w) && !slices.Contains(ws, w) {
			ws = append(ws, w)
		}
	}
	return ws
}

// proposalsOf decides about what a server that a project declares would get. others is what servers are started from.
func proposalsOf(p *policy.Policy, host hostfs.Host, others func() []policy.Started) (all []change.Proposal) {
	t := &session.Target{Host: host, Policy: p}
	d := &session.Decider{Was: t, At: t.Expand, Others: others}
	add := func(o change.Object) {
		all = append(all, change.Judge(change.Want{Source: change.Foreign, Object: o}, d.Reasons(o), nil))
	}
	if p.Workspace != "" {
		add(change.Path(p.Workspace, policy.Read|policy.Write))
	}
	for _, r := range p.Fs {
		if r.Rights() != 0 && r.Path != "." {
			add(change.Object{Fs: r})
		}
	}
	for _, r := range p.Net {
		if r.Allow {
			add(change.Object{Net: r})
		}
	}
	for _, r := range p.Env {
		if r.Read {
			add(change.Object{Env: r.Name})
		}
		if r.Read && r.File != "" {
			add(change.Path(r.File, policy.Read))
		}
	}
	return all
}

// changesOf returns what a project's file declares and takes away, with the warnings about it. For a file with a
// name other than config.ProjectFile there are no other layers.
func changesOf(file string, data []byte, host hostfs.Host) (all []serverChange, ws []policy.Warning, err error) {
	x, err := index.Read()
	if err != nil {
		return nil, nil, err
	}
	others := func() []policy.Started { return x.Others("") }
	ids := []string{""}
	for at := 0; at < len(ids); at++ {
		before, after, err := loadBoth(file, data, ids[at], host)
		if err != nil {
			return nil, nil, err
		}
		changes, err := config.Changes(before, after)
		if err != nil {
			return nil, nil, err
		}
		for _, ch := range changes {
			ws = slices.Concat(ws, after.Warnings(ch.Server), fileWarnings(before, after, ch, host))
			s := serverChange{ServerChange: ch, cfg: after}
			policies, _ := after.Processes(ch.Server)
			for _, p := range policies {
				if ch.Starts != nil {
					s.proposals = append(s.proposals, proposalsOf(p, host, others)...)
				}
			}
			all = append(all, s)
		}
		ids = append(ids, after.NarrowedIDs...)
	}
	return all, ws, nil
}

// loadBoth reads the configuration, or that of an id, without a project's file and with it.
func loadBoth(file string, data []byte, id string, host hostfs.Host) (before, after *config.Config, err error) {
	if filepath.Base(file) != config.ProjectFile {
		if after, err = config.Decode(data, file); err == nil {
			err = session.LayPresets(after, host)
		}
		return nil, after, err
	}
	// An empty file takes the place of the project's.
	o := config.LoadOptions{ID: id, Workspace: filepath.Dir(file), Project: []byte("version = 1\n")}
	if before, err = session.LoadConfig(o, host); err == nil {
		o.Project = data
		after, err = session.LoadConfig(o, host)
	}
	return before, after, err
}
