package inspect

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
	"github.com/spf13/cobra"
)

type planCmd struct {
	cmdline.ConfigFlags
	cmdline.PolicyFlags
	format, tool, serverName string
	verbose                  bool
}

func Plan(line *cli.CommandLine) *cobra.Command {
	p := &planCmd{}
	cmd := line.Command("plan [flags] [SERVER | -- COMMAND [ARG...]]", "Show what a server may do, path by path, and what enforces it. Starts nothing.", 1, true, func(args []string) error {
		p.serverName = cli.FirstOf(args)
		return p.Run(line.Console, line.Server)
	})
	cmd.Long = `SERVER is the name of a configured server, or of one that a client starts in mcp-jail (see
` + "`mcp-jail status`" + `). Without it, give a command after --.
The exit status is 3 if this host cannot enforce the plan.`
	cmd.Example = `    mcp-jail plan github
    mcp-jail plan --read ~/notes -- notes-server ~/notes`
	cli.AddFlags(cmd, p.ConfigFlags.Flags()...)
	cli.AddFlags(cmd, p.PolicyFlags.Flags()...)
	cli.AddFlags(cmd, cli.FormatFlag(&p.format))
	tool := cmdline.Flag{Name: "tool", Value: "TOOL", One: &p.tool, Usage: "Show the plan of this tool of a stateless server."}
	cli.AddFlag(cmd, tool, proposeTools(&p.ConfigFlags))
	cmd.Flags().BoolVar(&p.verbose, "verbose", false, "Also show what enforces each part, and the files and variables that every server gets.")
	cmd.ValidArgsFunction = proposePlanned(line, &p.ConfigFlags)
	return cmd
}

func (p *planCmd) Run(c terminal.Console, server cmdline.Server) error {
	if p.serverName == "" && len(server.Argv) == 0 {
		return exit.UsageErrorf("name a configured server, or give a command after --\n  mcp-jail plan SERVER\n  mcp-jail plan [flags] -- COMMAND [ARG...]")
	}
	t, wrapped, err := p.resolve(server)
	if err != nil && t.InstallsAfter(err) {
		return fmt.Errorf("%s. There is a plan when it is installed, because %s is not on this machine", t.Package.Text(), t.Policy.Command)
	}
	if err != nil {
		return err
	}
	if p.tool != "" && !slices.Contains(t.Config.ToolsWithTable(t.Policy.Server), p.tool) {
		t.Warnings = append(t.Warnings, undeclaredToolWarning(t, p.tool))
	}
	if p.tool != "" {
		t.Warnings = append(t.Warnings, passingWarnings(t.Profile, peersOf(t))...)
	}
	plan, err := t.Compile()
	var gaps *confine.GapError // nil if no gap is open
	if err != nil && !errors.As(err, &gaps) {
		return err
	}
	tools, worst := declaredTools(t)
	if p.format == "json" {
		planJSON(c, t, plan, tools)
	} else {
		if wrapped != nil {
			c.PrintText(fmt.Sprintf("As %s starts it (%s)\n\n", wrapped.File.Client.Title, wrapped.Place()))
		}
		page := planPage{console: c, target: t, plan: plan, verbose: p.verbose}
		c.PrintText(terminal.ShortHome(page.text(gaps, tools), t.Host.Home))
	}
	if gaps != nil {
		worst = exit.Host
	}
	if worst != exit.OK {
		return exit.ReportedStatus(worst)
	}
	return nil
}

// resolve resolves the policy of the command after --, or of the server that the word means: as the configuration has it,
// or as a client starts it in mcp-jail, which it also returns.
func (p *planCmd) resolve(server cmdline.Server) (t *session.Target, by *index.Entry, err error) {
	if !server.Given && len(p.Config) == 0 {
		x, err := index.Read()
		if err != nil {
			return nil, nil, err
		}
		s, err := x.Pick(p.serverName, (*index.Server).IsDeclared)
		if err != nil {
			return nil, nil, err
		}
		if s.Table == nil {
			return p.resolveEntry(s)
		}
		p.serverName = s.Table.Name
		if e := s.EntryByName(); e != nil {
			if _, _, err := e.UseEnv(true); err != nil {
				return nil, nil, err
			}
		}
	}
	t, err = session.Resolve(p.ConfigFlags, p.PolicyFlags, p.serverName, p.tool, server)
	return t, nil, err
}

func (p *planCmd) resolveEntry(s *index.Server) (t *session.Target, e *index.Entry, err error) {
	given := p.PolicyFlags.FirstSet()
	switch e, err = s.JailedEntry(p.serverName); {
	case err != nil:
		return nil, nil, err
	case p.tool != "":
		return nil, nil, exit.UsageErrorf("--tool %s is for a configured server; %s is wrapped, and has one process for all tools", p.tool, p.serverName)
	case given != "":
		return nil, nil, exit.UsageErrorf("%s is for a command after --; the flags of %s are in the file of its client. With more flags:\n  %s", given, p.serverName, e.PlanLine(p.PolicyFlags.Words()))
	}
	if t, err = e.Load(p.Waive); err == nil {
		err = t.Resolve()
	}
	return t, e, err
}

func planJSON(c terminal.Console, t *session.Target, plan *confine.Plan, tools []toolReport) {
	profile := *t.Profile
	profile.Argv = shown.Words(profile.Argv)
	out := struct {
		Profile        *policy.Profile       `json:"profile"`
		Preset         string                `json:"preset,omitempty"`
		Enforced       []confine.Enforcement `json:"enforced"`
		Gaps           []confine.Gap         `json:"gaps"`
		Notes          []string              `json:"notes"`
		Warnings       []string              `json:"warnings"`
		HostNamespaces *confine.Feature      `json:"without_namespaces,omitempty"` // why user namespaces are refused
		Tools          []toolReport          `json:"tools,omitempty"`
		Settings       []policy.Setting      `json:"settings,omitempty"`
		Seatbelt       *seatbeltText         `json:"seatbelt,omitempty"`
	}{&profile, t.Preset(), cli.NonNil(plan.Enforced), cli.NonNil(plan.Gaps), cli.NonNil(plan.Notes), t.WarningTexts(), nil, tools, t.Policy.Settings, seatbeltOf(plan)}
	if plan.HostNamespaces.Answer == confine.No {
		out.HostNamespaces = &plan.HostNamespaces
	}
	cli.PrintJSON(c, out)
}

// seatbeltText is the profile that a start on macOS hands to sandbox-exec, and its parameters, as
// NAME=value. The tag of the session and the port of its proxy are others at each start.
type seatbeltText struct {
	Profile string   `json:"profile"`
	Params  []string `json:"params"`
}

// seatbeltOf returns the text of a plan for macOS, or nil. If there is none, a gap of the plan says why.
func seatbeltOf(plan *confine.Plan) *seatbeltText {
	self, err := os.Executable()
	if err != nil || plan.Seatbelt == nil {
		return nil
	}
	text, err := plan.SeatbeltText(self)
	if err != nil {
		return nil
	}
	return &seatbeltText{text.Profile, cli.NonNil(text.Params)}
}

func describePolicy(p *policy.Policy) string {
	s := "stateful: one process for the session"
	if !p.Stateful {
		s = "stateless: a fresh process for every call"
	}
	switch {
	case p.Tool != "":
		s += ", tool " + p.Tool
	case !p.Stateful:
		return s + "; requests other than calls run under the default policy"
	}
	if p.Default {
		return s + "; the default policy"
	}
	return s + "; " + p.Where
}

// notEnforced is the text for an axis that nothing enforces.
const notEnforced = "not enforced"

func enforcedBy(plan *confine.Plan, axis policy.Axis) string {
	var how []string
	for _, e := range plan.Enforced {
		if e.Axis == axis && !slices.Contains(how, e.By) {
			how = append(how, e.By)
		}
	}
	if how == nil {
		return notEnforced
	}
	return strings.Join(how, "; ")
}

// entryName returns the path of an entry, with "~" for the home directory. A path that leads
// through a link is also shown as the rule names it.
func entryName(e policy.Entry, home string) string {
	short := cli.ShortPath(e.Path, home)
	outside := strings.HasPrefix(e.Named, "~") || strings.HasPrefix(e.Named, "/")
	if named := cli.ShortPath(path.Clean(e.Named), home); outside && e.Origin == policy.OriginRule && named != short {
		return named + " -> " + short
	}
	return short
}

func originText(e policy.Entry) string {
	switch e.Origin {
	case policy.OriginBaseline:
		if e.Rule != resolve.BaselineRule {
			return e.Rule
		}
		return "baseline"
	case policy.OriginHome:
		if e.Ephemeral {
			return "private home, a copy that is thrown away"
		}
		return "private home"
	case policy.OriginSensitive:
		if e.Named == resolve.HostSocket {
			return e.Rule
		}
		return "sensitive"
	case policy.OriginProtected:
		return "protected"
	}
	return e.Rule
}

func remarkTexts(p *policy.Policy, goos string) []string {
	remarks := p.Remarks()
	if goos == "windows" { // where nothing restricts files and hosts, they would not be true
		remarks = slices.DeleteFunc(remarks, func(w policy.Warning) bool { return w.Code == "no-fs" || w.Code == "no-net" })
	}
	for _, r := range p.Fs {
		if r.Rights()&policy.Write != 0 && !r.Rights().Has(policy.Read) {
			remarks = append(remarks, policy.Warning{Code: "write-only", Message: fmt.Sprintf("path = %s lets the server write without reading: add read = true, unless that is meant", show.TOML(r.Path)), Where: r.Where})
		}
	}
	for _, word := range p.Waive {
		if system, here := systemOf(word); system != "" && here != goos {
			remarks = append(remarks, policy.Warning{Code: "waive-elsewhere", Message: fmt.Sprintf("waive = [%q] accepts what %s cannot enforce, and nothing here", string(word), system), Where: p.Where})
		}
	}
	return session.WarningTexts(remarks)
}

// systemOf returns the name of the operating system whose gaps a word waives, and what GOOS is there; "" for
// an axis.
func systemOf(word policy.Axis) (name, goos string) {
	switch word {
	case policy.WaiveMacOS:
		return "macOS", "darwin"
	case policy.WaiveWindows:
		return "Windows", "windows"
	}
	return "", ""
}

// undoRemark returns a remark about the copies that mcp-jail keeps of the files that a server
// changes. It returns nil without undo.
func undoRemark(p *policy.Policy) []string {
	if !p.Undo.On() {
		return nil
	}
	return []string{fmt.Sprintf("undo: before it changes a file of up to %d MB, what stands there is kept for %d days: %s, %s", policy.UndoFileMB, policy.UndoDays, show.Typed("mcp-jail changes", p.Server), show.Typed("mcp-jail undo", p.Server))}
}

func gapTexts(gaps []confine.Gap) []string {
	var out []string
	for _, g := range gaps {
		s := fmt.Sprintf("%s: %s: %s", g.Axis, g.What, g.Why)
		if g.Fix != "" && g.Fix != confine.FixNamespaces && (g.Platform == "" || g.Fatal) {
			s += "\n" + g.Fix
		}
		if g.Waived {
			s = "(waived) " + s
		}
		out = append(out, s)
	}
	return out
}

// platformAdvice returns the line that accepts what this operating system cannot enforce under any
// policy. It returns nil if that is accepted, or if nothing can be started.
func platformAdvice(open *confine.GapError) []string {
	if open == nil || open.Waive == nil || !open.OfPlatform() {
		return nil
	}
	return []string{open.WaiveLine()}
}

// namespaceAdvice returns why user namespaces are refused, and how to allow them or to do
// without. It returns nil where they are not refused.
func namespaceAdvice(plan *confine.Plan, open *confine.GapError) []string {
	if plan.HostNamespaces.Answer != confine.No {
		return nil
	}
	out := []string{"user namespaces are refused: " + plan.HostNamespaces.Detail + "\n" + plan.HostNamespaces.Fix}
	if open != nil && open.Waive != nil {
		out = append(out, open.WaiveLine())
	}
	return out
}

// leaks writes which secrets are looked for in the messages of the server. Without secrets it
// writes nothing.
func (page *planPage) leaks() {
	p := page.target.Profile
	sought, others := leak.Sought(p.Env)
	var names, lines []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, s := range sought {
		add(s.Name)
	}
	if p.LeakPatterns {
		add("tokens of well-known kinds (leak_patterns)")
	}
	switch {
	case p.Leaks == policy.LeaksOff:
		if len(names) > 0 {
			lines = append(lines, `not looked for in what the server sends, since leaks is "off": `+strings.Join(names, ", "))
		}
		others = nil
	case len(names) > 0 && p.Leaks == policy.LeaksBlock:
		lines = append(lines, "refused in what the server sends: "+strings.Join(names, ", "))
	case len(names) > 0:
		lines = append(lines, "a warning if the server sends it: "+strings.Join(names, ", "))
	}
	for _, o := range others {
		lines = append(lines, "not looked for: "+o.Name+", since "+o.Why)
	}
	page.section("leaks", terminal.Bold, lines)
}
