// Package inspect has the commands that explain and change nothing: check, plan and why. Only check
// --probe starts servers, which write their private HOMEs.
package inspect

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/handshake"
	"github.com/mcp-jail/mcp-jail/cmd/internal/lines"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
	"github.com/spf13/cobra"
)

type checkCmd struct {
	cmdline.ConfigFlags
	format  string
	probe   bool
	timeout time.Duration // of --probe, for one server
	files   []string      // instead of the usual ones
}

func Check(line *cli.CommandLine) *cobra.Command {
	k := &checkCmd{timeout: time.Minute}
	cmd := line.Command("check [flags] [FILE... | SERVER]", "Check a configuration for mistakes; --probe also starts each server in its jail.", cli.AnyNumber, false, func(files []string) error {
		k.files = files
		return k.Run(line.Console)
	})
	cmd.Long = `FILEs are configuration files to check instead of the usual ones. SERVER is the name of one
server to check: a configured one, or one that a client starts in mcp-jail (see ` + "`mcp-jail status`" + `).

Exit status 0: no error; 1: a server failed, or its program is missing; 2: the
configuration has an error; 3: this host cannot enforce it. Warnings do not
change the status, and neither do secrets that --probe does not find.`
	cmd.Example = `    mcp-jail check
    mcp-jail check --probe
    mcp-jail check --probe github
    mcp-jail check team.toml --format json`
	cmd.ValidArgsFunction = proposeChecked(line, &k.ConfigFlags)
	cli.AddFlags(cmd, k.Flags()...)
	cli.AddFlags(cmd, cli.FormatFlag(&k.format))
	cmd.Flags().BoolVar(&k.probe, "probe", false, "Also start each server in its jail, list its tools, and look for its secrets.")
	cmd.Flags().Var(cli.Duration(&k.timeout), "timeout", "With --probe: the time limit for one server.")
	cli.Propose(cmd, "timeout", cobra.NoFileCompletions)
	return cmd
}

// maxHardLinkFiles bounds the files that check examines for hard links.
const maxHardLinkFiles = 50000

// serverReport is the result of checking one server.
type serverReport struct {
	Server   string         `json:"server"`
	OK       bool           `json:"ok"`
	Policy   string         `json:"policy,omitempty"`
	Preset   string         `json:"preset,omitempty"`
	Errors   []string       `json:"errors,omitempty"`
	Gaps     []confine.Gap  `json:"gaps,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
	Remarks  []string       `json:"remarks,omitempty"`
	Tools    []toolReport   `json:"tools,omitempty"`
	Probed   string         `json:"probed,omitempty"` // the name and version that the server reports
	Secrets  []secretReport `json:"secrets,omitempty"`

	stateless bool
	peers     []peer // of a stateless server
	status    int
}

func (k *checkCmd) Run(c terminal.Console) error {
	axes, err := cmdline.ParseWaivers("--waive", k.Waive)
	if err != nil {
		return err
	}
	if k.timeout <= 0 {
		return exit.UsageErrorf("--timeout %s: it has to be positive, such as 60s or 2m", k.timeout)
	}
	session.Prove(context.Background(), c)
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	server := serverArgument(k.files)
	if server != "" {
		k.files = nil
	}
	files, err := session.ExpandHome(append(slices.Clone(k.Config), k.files...))
	if err != nil {
		return err
	}
	host.Configs = session.AbsolutePaths(files)
	cfg, err := session.LoadConfig(config.LoadOptions{Files: files}, host)
	if err != nil {
		return k.reportBroken(c, err)
	}
	names := cfg.ServerNames()
	var x *index.Index // nil if files of configuration were named
	if len(files) == 0 {
		if x, err = index.Read(); err == nil && server == "" && len(x.Broken) > 0 {
			return k.reportBroken(c, errors.Join(x.Broken...))
		}
		if err != nil {
			return err
		}
	}
	if server != "" && x != nil {
		s, err := x.Pick(server, (*index.Server).IsDeclared)
		if err != nil {
			return err
		}
		if s.Table == nil {
			return k.checkEntry(c, host.Home, server, s)
		}
		server = s.Table.Name
	}
	if server != "" {
		if cfg.Servers[server] == nil {
			return &config.UnknownServerError{Server: server, Known: names, Files: cfg.Files}
		}
		names = []string{server}
	}
	reports, err := k.checkConfigured(c, host, cfg, names, x, axes)
	if err != nil {
		return err
	}
	return k.finish(c, host.Home, cfg.Files, reports)
}

// checkConfigured checks servers of the configuration, with the variables that clients set for them.
func (k *checkCmd) checkConfigured(c terminal.Console, host hostfs.Host, cfg *config.Config, names []string, x *index.Index, axes []policy.Axis) ([]serverReport, error) {
	as := make([]string, len(names))
	reports, err := k.checkServers(c, names, func(name string) (*session.Target, func(), error) {
		restore := func() {}
		if x != nil {
			restore, as[slices.Index(names, name)] = useClientEnv(x, name)
		}
		with, err := hostfs.LocalHost() // with these variables
		with.Configs = host.Configs
		return session.Configured(with, cfg, name, axes), restore, err
	})
	if err != nil {
		return nil, err
	}
	for i := range reports {
		if as[i] != "" {
			reports[i].Remarks = append([]string{"with the variables that " + as[i]}, reports[i].Remarks...)
		}
	}
	return reports, nil
}

func (k *checkCmd) finish(c terminal.Console, home string, files []string, reports []serverReport) error {
	k.show(c, home, files, reports)
	worst := exit.OK
	for _, r := range reports {
		worst = max(worst, r.status)
	}
	if worst != exit.OK {
		return exit.ReportedStatus(worst)
	}
	return nil
}

// checkServers checks the servers that names lists. load loads each of them, and end is called after
// its check. With --probe, a
// signal ends the check after the current server, and there is no report.
func (k *checkCmd) checkServers(c terminal.Console, names []string, load func(name string) (t *session.Target, end func(), err error)) ([]serverReport, error) {
	var interrupted chan os.Signal
	if k.probe { // the current session ends by itself; start no other
		interrupted = cli.Interrupts()
		defer signal.Stop(interrupted)
	}
	reports := make([]serverReport, 0, len(names))
	for _, name := range names {
		t, end, err := load(name)
		if err != nil {
			return nil, err
		}
		r := k.checkServer(c, name, t)
		end()
		select {
		case s := <-interrupted:
			c.Errorf("interrupted while checking %s; there is no report", name)
			return nil, cli.Interrupted(s)
		default:
		}
		reports = append(reports, r)
	}
	return reports, nil
}

func (k *checkCmd) show(c terminal.Console, home string, files []string, reports []serverReport) {
	if k.format == "json" {
		out := struct {
			Files   []string       `json:"files"`
			Servers []serverReport `json:"servers"`
		}{files, reports}
		cli.PrintJSON(c, out)
		return
	}
	for _, r := range reports {
		c.PrintText(terminal.ShortHome(r.text(c), home))
	}
	if len(reports) == 0 {
		x, err := index.Read()
		own := 0
		for i := 0; err == nil && i < len(x.Servers); i++ {
			if x.Servers[i].File != nil {
				own++
			}
		}
		if own > 0 {
			c.Printf("no table has a server, and %s of a server in %s\n", cli.Plural(own, "file"), cli.ShortPath(filepath.Join(x.Host.ConfigDir, config.ServersDir), home))
		} else {
			c.Printf("no server is configured%s\n", configSources(files))
		}
		// Servers run, but no configuration has them: clients start them in mcp-jail.
		if err == nil && len(x.Servers) > 0 {
			c.PrintText("a server that a client starts in mcp-jail: `mcp-jail check NAME`, with its name in `mcp-jail status`\n")
		}
	}
}

func configSources(files []string) string {
	if len(files) == 0 {
		return ": no configuration file was found"
	}
	return " in " + strings.Join(files, ", ")
}

func (k *checkCmd) reportBroken(c terminal.Console, err error) error {
	var problems policy.Problems
	if k.format != "json" {
		return err
	}
	var untrusted *config.UntrustedError
	isProblem := errors.As(err, &problems)
	switch {
	case errors.As(err, &untrusted):
		problems = append(policy.Problems{{File: untrusted.File, Message: untrusted.Error()}}, problems...)
	case !isProblem:
		problems = policy.Problems{{Message: err.Error()}}
	}
	type problem struct {
		File    string `json:"file,omitempty"`
		Line    int    `json:"line,omitempty"`
		Key     string `json:"key,omitempty"`
		Message string `json:"message"`
	}
	out := struct {
		Problems []problem `json:"problems"`
	}{}
	for _, p := range problems {
		out.Problems = append(out.Problems, problem{p.File, p.Line, p.Key, p.Message})
	}
	cli.PrintJSON(c, out)
	return exit.ReportedStatus(exit.Status(err))
}

// checkServer checks one server and stops at the first mistake that prevents the rest.
func (k *checkCmd) checkServer(c terminal.Console, name string, t *session.Target) (r serverReport) {
	r = serverReport{Server: name}
	fail := func(status int, err error) serverReport {
		r.Errors, r.status = append(r.Errors, err.Error()), max(r.status, status)
		return r
	}
	var err error
	if t.PolicyOf != nil { // a configured server
		t.Policy, err = t.PolicyOf("")
	}
	if err != nil {
		return fail(exit.Usage, err)
	}
	r.Policy, r.Remarks, r.stateless = describePolicy(t.Policy), remarkTexts(t.Policy, t.Host.OS), !t.Policy.Stateful
	if r.Preset = t.Preset(); r.Preset != "" {
		r.Remarks = append([]string{"the preset " + r.Preset + " is below its own table: mcp-jail preset " + r.Preset}, r.Remarks...)
	}
	r.Remarks = append(undoRemark(t.Policy), r.Remarks...)
	for _, s := range t.Policy.Settings {
		if s.Default {
			r.Remarks = append(r.Remarks, s.String())
		}
	}
	// A package that is not fetched yet has no program to check.
	if err = t.Resolve(); t.InstallsAfter(err) && err != nil {
		r.Remarks = append([]string{t.Package.Text() + ". The rest can be checked then"}, r.Remarks...)
		r.OK = true
		return r
	}
	if err != nil {
		r.Warnings = lines.Launchers(append([]string{t.Policy.Command}, t.Policy.Arguments...))
		return fail(exit.Status(err), err)
	}
	if text := t.Package.Text(); text != "" {
		r.Remarks = append([]string{text}, r.Remarks...)
	}
	r.Warnings = append(t.WarningTexts(), lines.Launchers(append([]string{t.Policy.Command}, t.Policy.Arguments...))...)
	plan, err := t.Compile()
	if plan != nil {
		r.Gaps = plan.Gaps
	}
	if err != nil {
		return fail(exit.Host, err)
	}
	r.Warnings = append(r.Warnings, session.WarningTexts(resolve.HardLinks(t.Profile, t.Host, maxHardLinkFiles))...)
	if k.probe {
		err = tryServer(t, c, &r, k.timeout)
	}
	if !t.Policy.Stateful {
		r.status = reportTools(t, &r)
	}
	if k.probe {
		checkSecrets(t, &r)
	}
	if err != nil {
		return fail(exit.Failure, err)
	}
	r.OK = r.status == exit.OK
	return r
}

func tryServer(t *session.Target, c terminal.Console, r *serverReport, timeout time.Duration) error {
	trial := handshake.Trial{Target: t, Umask: c.Umask, Name: "mcp-jail check", Timeout: timeout}
	trial.Slow = func() { c.Sayf("starting %s ...", r.Server) }
	answer, err := trial.Run(context.Background())
	if err != nil {
		return err
	}
	r.Probed = strings.TrimSpace(answer.Name + " " + answer.Version)
	if r.Probed == "" {
		r.Probed = "the server"
	}
	for _, tool := range answer.Tools {
		r.Tools = append(r.Tools, toolReport{Name: tool.Name, Description: tool.Description})
	}
	return nil
}

// serverArgument returns the server that the arguments name, or "" if they are files. It decides
// by the word alone, and not by the files that exist: --probe starts the servers of a file, and a
// project may have a file of any name.
func serverArgument(args []string) string {
	if len(args) != 1 || strings.Contains(args[0], "/") || strings.HasPrefix(args[0], ".") || filepath.Ext(args[0]) == ".toml" {
		return ""
	}
	return args[0]
}

// useClientEnv sets the variables that a client of the user's sets for a server of the configuration. restore takes them
// back. as says whose they are; "" if there are none.
func useClientEnv(x *index.Index, name string) (restore func(), as string) {
	s, err := x.Pick(name, func(s *index.Server) bool { return s.Table != nil })
	if err != nil || s.EntryByName() == nil {
		return func() {}, ""
	}
	e := s.EntryByName()
	restore, set, err := e.UseEnv(true)
	if err != nil || set == 0 {
		return restore, ""
	}
	return restore, e.File.Client.Title + " starts it: " + e.Place()
}

func (k *checkCmd) checkEntry(c terminal.Console, home, name string, s *index.Server) error {
	e, err := s.JailedEntry(name)
	if err != nil {
		return err
	}
	if k.probe && e.File.IsProject() {
		return exit.UsageErrorf("%s is in a file of this project (%s), which others may have written: --probe would start it, so give only check %s, or move the entry into a file of your own", name, e.Place(), name)
	}
	reports, err := k.checkServers(c, []string{name}, func(string) (*session.Target, func(), error) {
		t, err := e.Load(k.Waive)
		return t, func() {}, err
	})
	if err != nil {
		return err
	}
	for i := range reports {
		reports[i].Remarks = append([]string{"as " + e.File.Client.Title + " starts it: " + e.Place()}, reports[i].Remarks...)
	}
	return k.finish(c, home, []string{e.File.Path}, reports)
}
