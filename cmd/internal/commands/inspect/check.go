package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

type checkCmd struct {
	cmdline.ConfigFlags
	format string
}

// Check returns the command check.
func Check(line *cli.CommandLine) *cobra.Command {
	k := &checkCmd{}
	cmd := line.Command("check [options] [FILE... | NAME]", cli.AnyNumber, false, func(args []string) error {
		return k.run(line.Console, args)
	})
	cmd.Long = `check reads every policy file and the entry of every server that starts in a jail,
and says for each mistake in which line it is and what to write. It starts no
server. FILEs are read in place of the usual policy files. NAME is a server that
mcp-jail status shows: only this one is checked.

The exit status is 1 if there is a mistake, or if this machine does not enforce a
policy. Warnings do not change it.`
	cmd.Example = `    mcp-jail check
    mcp-jail check github
    mcp-jail check team.toml --format json`
	cli.AddFlags(cmd, k.Flags()...)
	cli.AddFlags(cmd, cli.FormatFlag(&k.format))
	return cmd
}

func (k *checkCmd) run(c terminal.Console, args []string) error {
	axes, err := cmdline.ParseWaivers("--waive", k.Waive)
	if err != nil {
		return err
	}
	session.Prove(context.Background(), c)
	server := serverArgument(args)
	if server != "" {
		args = nil
	}
	files, err := session.ExpandHome(append(slices.Clone(k.Config), args...))
	if err != nil {
		return err
	}
	var r checkReport
	if len(files) > 0 {
		err = r.addFiles(files, server, axes)
	} else {
		err = r.addIndex(server, axes, k.Waive)
	}
	if err != nil {
		return err
	}
	if k.format == "json" {
		r.Problems, r.Servers = cli.NonNil(r.Problems), cli.NonNil(r.Servers)
		cli.PrintJSON(c, r)
	} else {
		r.print(c)
	}
	if r.mistakes() > 0 {
		return terminal.ReportedStatus(terminal.Failure)
	}
	return nil
}

// serverArgument returns the server that the arguments name, or "" if they are files. It decides
// by the word alone, and not by the files that exist: a project may have a file of any name.
func serverArgument(args []string) string {
	if len(args) != 1 || strings.Contains(args[0], "/") || strings.HasPrefix(args[0], ".") || filepath.Ext(args[0]) == ".toml" {
		return ""
	}
	return args[0]
}

// checkReport is what check found.
type checkReport struct {
	Problems []fileProblem  `json:"problems"`
	Servers  []serverReport `json:"servers"`

	home string
}

// fileProblem is a mistake because of which a file is not used.
type fileProblem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
	text    string // with the place
}

// serverReport is what was found about one server.
type serverReport struct {
	Server   string        `json:"server"`
	OK       bool          `json:"ok"`
	Place    string        `json:"place"`            // of its entry or table
	Policy   string        `json:"policy,omitempty"` // as text
	Errors   []string      `json:"errors,omitempty"`
	Gaps     []confine.Gap `json:"gaps,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`
	Tools    []toolReport  `json:"tools,omitempty"`
}

// addFiles checks the servers of named files, or one of them.
func (r *checkReport) addFiles(files []string, server string, axes []policy.Axis) error {
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	r.home, host.Configs = host.Home, session.AbsolutePaths(files)
	if _, err := os.Stat(files[0]); err == nil && server == "" && len(files) == 1 && filepath.Dir(host.Configs[0]) == filepath.Join(host.ConfigDir, config.ServersDir) {
		return r.addIndex(strings.TrimSuffix(filepath.Base(files[0]), ".toml"), axes, nil)
	}
	cfg, err := session.LoadConfig(config.LoadOptions{Files: files}, host)
	if err != nil {
		return r.addProblem(err)
	}
	names := cfg.ServerNames()
	if server != "" && cfg.Servers[server] == nil {
		return &config.UnknownServerError{Server: server, Known: names, Files: cfg.Files}
	}
	for _, name := range names {
		if server == "" || name == server {
			r.addServer(name, cfg.Servers[name].Where, session.Configured(host, cfg, name, axes))
		}
	}
	return nil
}

// addIndex checks all policy files and the servers of the index, or one of them.
func (r *checkReport) addIndex(server string, axes []policy.Axis, waive []string) error {
	x, err := index.Read()
	if err != nil {
		return err
	}
	r.home = x.Host.Home
	for _, p := range x.ConfigurationProblems() {
		text := p.What
		if p.Fix != "" {
			text = p.Warning()
		}
		r.Problems = append(r.Problems, fileProblem{File: p.File, Line: p.Line, Message: text, text: text})
	}
	for _, err := range x.Broken {
		if r.addProblem(err) != nil {
			r.Problems = append(r.Problems, fileProblem{Message: err.Error(), text: err.Error()})
		}
	}
	for _, f := range x.Files {
		if f.Err != nil {
			r.Problems = append(r.Problems, fileProblem{File: f.Path, Message: f.Err.Error(), text: f.Err.Error()})
		}
	}
	cfg, _, _ := session.LoadTrusted(config.LoadOptions{}, x.Host) // its mistakes are among those of the configuration
	servers := x.Servers
	if server != "" {
		s, err := x.Pick(server, (*index.Server).IsDeclared)
		if err != nil {
			return err
		}
		servers = []*index.Server{s}
	}
	for _, s := range servers {
		e, err := s.JailedEntry(cmp.Or(server, s.Name))
		switch {
		case s.Table != nil && cfg != nil:
			r.addTable(s, cfg, axes)
		case err == nil:
			r.addEntry(s.Name, e, waive)
		case slices.ContainsFunc(s.Entries, func(e *index.Entry) bool { return e.Verdict().IsWrapped() }):
			r.Servers = append(r.Servers, serverReport{Server: s.Name, Place: s.Place(), Errors: []string{err.Error()}})
		case server != "":
			return err // it starts without a jail
		}
	}
	return nil
}

// addTable checks a server of the configuration, with the variables that a client sets for it.
func (r *checkReport) addTable(s *index.Server, cfg *config.Config, axes []policy.Axis) {
	place := s.Table.Where
	if e := s.EntryByName(); e != nil {
		if restore, set, err := e.UseEnv(true); err == nil {
			defer restore()
			if set > 0 {
				place += ", with the variables that " + e.File.Client.Title + " sets (" + e.Place() + ")"
			}
		}
	}
	host, err := hostfs.LocalHost() // with these variables
	if err == nil {
		r.addServer(s.Table.Name, place, session.Configured(host, cfg, s.Table.Name, axes))
	}
}

// addEntry checks a server as its client starts it.
func (r *checkReport) addEntry(name string, e *index.Entry, waive []string) {
	restore, _, err := e.UseEnv(false)
	defer restore()
	place := "as " + e.File.Client.Title + " starts it (" + e.Place() + ")"
	t, failed := e.Load(waive)
	if err = cmp.Or(err, failed); err == nil {
		err = e.CheckLog()
	}
	if err != nil {
		r.Servers = append(r.Servers, serverReport{Server: name, Place: place, Errors: []string{mistake(t, name, err)}})
		return
	}
	r.addServer(name, place, t)
}

// addProblem adds the mistakes of an error about files. It returns an error that is about something else.
func (r *checkReport) addProblem(err error) error {
	var problems policy.Problems
	if !errors.As(err, &problems) {
		return err
	}
	for _, p := range problems {
		r.Problems = append(r.Problems, fileProblem{p.File, p.Line, p.Key, p.Message, p.Error()})
	}
	return nil
}

// maxHardLinkFiles bounds the files that check examines for hard links.
const maxHardLinkFiles = 50000

// addServer checks one server, and stops at the first mistake that prevents the rest.
func (r *checkReport) addServer(name, place string, t *session.Target) {
	s := serverReport{Server: name, Place: place}
	defer func() {
		s.OK = s.Errors == nil && !slices.ContainsFunc(s.Tools, func(t toolReport) bool { return t.Errors != nil })
		r.Servers = append(r.Servers, s)
	}()
	var err error
	if t.PolicyOf != nil { // a configured server
		if t.Policy, err = t.PolicyOf(""); err != nil {
			s.Errors = []string{mistake(t, name, err)}
			return
		}
	}
	s.Policy = accessSummary(t.Policy)
	s.Warnings = remarkTexts(t.Policy)
	argv := append([]string{t.Policy.Command}, t.Policy.Arguments...)
	if err = t.Resolve(); t.InstallsAfter(err) && err != nil {
		s.Warnings = append(s.Warnings, t.Package.Text()+". The rest can be checked then")
		return
	}
	var report *Report
	if err == nil {
		report, err = newReport(t)
	}
	if err != nil {
		s.Errors, s.Warnings = []string{mistake(t, name, err)}, append(s.Warnings, meaning.Launchers(argv)...)
		return
	}
	s.Gaps, s.Tools = report.Gaps, report.Tools
	for i, tool := range s.Tools {
		if tool.Errors != nil {
			s.Tools[i].Errors = []string{tool.refused}
		}
	}
	if report.open != nil {
		err = report.open
	} else {
		err = t.Check(context.Background(), report.plan)
	}
	if err != nil {
		s.Errors = []string{mistake(t, name, err)}
	}
	s.Warnings = slices.Concat(s.Warnings, report.Warnings, meaning.Launchers(argv), session.WarningTexts(resolve.HardLinks(t.Profile, t.Host, maxHardLinkFiles)))
}

// mistake says why a server does not start, as its start does, and without advice to run check. t may be nil.
func mistake(t *session.Target, server string, err error) string {
	if t != nil && t.Policy != nil {
		server = t.Policy.Server
	}
	d := t.Refusal(server, err)
	for _, general := range []diagnostics.Diagnosis{diagnostics.ConfigFailure("", ""), diagnostics.UsageFailure("", "")} {
		if d.What == general.What {
			d.What = ""
		}
		if d.Fix == general.Fix {
			d.Fix = ""
		}
	}
	lines := strings.Split(strings.TrimSuffix(d.Text(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "mcp-jail: ")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func (r *checkReport) mistakes() (n int) {
	n = len(r.Problems)
	for _, s := range r.Servers {
		if !s.OK {
			n++
		}
	}
	return n
}

func (r *checkReport) print(c terminal.Console) {
	fail := c.Paint(terminal.Red, "FAIL")
	item := func(head, text string) {
		c.PrintText(terminal.ShortHome(head+strings.ReplaceAll(show.Lines(text), "\n", "\n        "), r.home) + "\n")
	}
	for _, p := range r.Problems {
		item(fail+"  ", p.text)
	}
	for _, s := range r.Servers {
		mark := c.Paint(terminal.Green, "ok") + "  "
		if !s.OK {
			mark = fail
		}
		item(mark+"  "+c.Paint(terminal.Bold, show.Name(s.Server))+"  ", s.Place)
		list := func(code, word, tool string, texts []string) {
			for _, text := range texts {
				item("      "+c.Paint(code, word)+" "+tool, text)
			}
		}
		list(terminal.Red, "mistake:", "", s.Errors)
		list(terminal.Yellow, "warning:", "", s.Warnings)
		list(terminal.Yellow, "accepted:", "", waivedTexts(s.Gaps))
		for _, t := range s.Tools {
			tool := "tool " + show.Name(t.Name) + ": "
			list(terminal.Red, "mistake:", tool, t.Errors)
			list(terminal.Yellow, "warning:", tool, t.Warnings)
			list(terminal.Yellow, "accepted:", tool, waivedTexts(t.Gaps))
		}
	}
	switch n := r.mistakes(); {
	case n > 0:
		c.PrintText("\n" + cli.Plural(n, "mistake") + ". Correct what is named above, and check again.\n")
	case len(r.Servers) == 0:
		c.PrintText("There is no mistake, and no server has a policy yet. To put your servers in a jail:\n  mcp-jail wrap\n")
	default:
		c.PrintText("\nNo mistakes in " + cli.Plural(len(r.Servers), "server") + ". To see what one may use:\n  " + show.Typed("mcp-jail plan", r.Servers[0].Server) + "\n")
	}
}

// waivedTexts says what this machine does not enforce, and what the policy accepts.
func waivedTexts(gaps []confine.Gap) (texts []string) {
	for _, g := range gaps {
		if g.Waived {
			texts = append(texts, fmt.Sprintf("%s: %s: %s", axisNames[g.Axis], g.What, g.Why))
		}
	}
	return texts
}
