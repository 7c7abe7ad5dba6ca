package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mcp-jail/mcp-jail/cmd/internal/target"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
)

// planText returns a plan as text: the resolved policy, what enforces it, and what is not
// enforced.
func planText(c terminal.Console, t *target.Target, plan *confine.Plan, open *confine.GapError, tools []toolReport) string {
	x := planPage{console: c, target: t, plan: plan}
	x.server()
	x.heading("filesystem", enforcedBy(plan, policy.AxisFs))
	x.files()
	x.heading("network", enforcedBy(plan, policy.AxisNet))
	x.WriteString(networkText(t.Profile, slices.ContainsFunc(plan.Gaps, func(g confine.Gap) bool { return g.Axis == policy.AxisNet })))
	x.heading("environment", enforcedBy(plan, policy.AxisEnv))
	x.environment()
	x.leaks()
	x.heading("programs and limits", "")
	x.programs()
	if !t.Policy.Stateful && t.Policy.Tool == "" {
		x.heading("tools", "each call in a process of its own")
		rows := slices.Clone(tools)
		if !t.Config.HasAnyTool(t.Policy.Server) {
			rows = append(rows, toolReport{Policy: "the default policy", Warm: t.Policy.Warm})
		}
		rows[len(rows)-1].Name = "(any other)"
		x.WriteString(toolTable("  ", rows))
	}
	var settings []string
	for _, s := range t.Policy.Settings {
		settings = append(settings, s.String())
	}
	x.section("settings", terminal.Bold, settings)
	x.remarks(tools)
	x.section("no namespaces", terminal.Red, namespaceAdvice(plan, open))
	x.section("does not hold", terminal.Red, gapTexts(plan.Gaps))
	return x.String()
}

// planPage is the text of a plan while it is built.
type planPage struct {
	strings.Builder
	console terminal.Console
	target  *target.Target
	plan    *confine.Plan
}

func (x *planPage) heading(title, how string) {
	if how != "" {
		how = "  " + x.console.Paint(terminal.Dim, how)
	}
	fmt.Fprintf(x, "\n%s%s\n", x.console.Paint(terminal.Bold, title), how)
}

// section writes items below a title. Without items it writes nothing.
func (x *planPage) section(title, code string, items []string) {
	for i, l := range items {
		if i == 0 {
			fmt.Fprintf(x, "\n%s\n", x.console.Paint(code, title))
		}
		fmt.Fprintf(x, "  %s\n", strings.ReplaceAll(terminal.PrintableLines(l), "\n", "\n    "))
	}
}

func (x *planPage) columns() *tabwriter.Writer { return tabwriter.NewWriter(x, 0, 0, 2, ' ', 0) }

func (x *planPage) server() {
	p := x.target.Profile
	fmt.Fprintf(x, "%s  %s\n", x.console.Paint(terminal.Bold, p.Server), terminal.Printable(describePolicy(x.target.Policy)))
	w := x.columns()
	row := func(name, value string) { fmt.Fprintf(w, "  %s\t%s\n", name, terminal.Printable(value)) }
	if text := x.target.PackageText(); text != "" {
		row("package", text)
	}
	if name := x.target.Preset(); name != "" {
		row("preset", name)
	}
	row("program", p.Program)
	row("arguments", fmt.Sprintf("%q", p.Argv))
	row("workspace", cmp.Or(p.Workspace, "none"))
	row("directory", p.Dir)
	home := p.Home + "  (only the variable: access to the directory takes rules)"
	if p.HomePrivate {
		home = p.Home + "  (private, kept between sessions)"
	}
	if e, _ := p.Find(p.Home); e.Ephemeral {
		home = p.Home + "  (private, a copy that is discarded when the call ends)"
	}
	row("home", home)
	switch p.Startup {
	case policy.DefaultStartup:
	case 0:
		row("start-up", "may take for ever")
	default:
		row("start-up", fmt.Sprintf("may take %v", p.Startup))
	}
	w.Flush()
}

func (x *planPage) files() {
	p := x.target.Profile
	w := x.columns()
	var runtime []string // in one paragraph
	for _, e := range p.Entries {
		if e.Origin == policy.OriginBaseline && e.Rights == policy.Read|policy.Execute {
			runtime = append(runtime, e.Path)
			continue
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", e.Rights, terminal.Printable(entryName(e)), terminal.Printable(originText(e)))
	}
	tmp := "/tmp, /dev/shm"
	if x.plan.HostNamespaces.Answer == confine.No {
		tmp = "TMPDIR"
	}
	fmt.Fprintf(w, "  read write execute\t%s\tprivate, removed at the end\n", tmp)
	w.Flush()
	fmt.Fprintf(x, "  read execute, in every policy:\n")
	writeWrapped(&x.Builder, "    ", runtime)
	if len(p.Links) > 0 {
		var links []string
		for _, l := range p.Links {
			links = append(links, l.Path+" -> "+l.Target)
		}
		fmt.Fprintf(x, "  symbolic links:\n")
		writeWrapped(&x.Builder, "    ", links)
	}
}

func (x *planPage) environment() {
	p := x.target.Profile
	for _, v := range p.Env {
		value := v.Value
		switch {
		case v.Secret:
			value = "(not shown: granted by name)"
		case v.Name == policy.StatementVar:
			value = "(this policy, for the server to read)"
		}
		fmt.Fprintf(x, "  %s=%s\n", v.Name, terminal.Printable(truncate(value, 120)))
	}
	if len(p.Withheld) > 0 {
		fmt.Fprintf(x, "  withheld:\n")
		writeWrapped(&x.Builder, "    ", p.Withheld)
	}
}

func (x *planPage) programs() {
	if programs := x.target.Profile.Programs; programs == nil {
		fmt.Fprintln(x, "  any program that the filesystem rules let the server execute")
	} else {
		fmt.Fprintf(x, "  only: %s\n", terminal.Printable(strings.Join(programs, " ")))
	}
	for _, axes := range [][]policy.Axis{{policy.AxisLimits}, {policy.AxisIPC, policy.AxisProcess}} {
		for _, e := range x.plan.Enforced {
			if slices.Contains(axes, e.Axis) {
				fmt.Fprintf(x, "  %s  %s\n", e.What, x.console.Paint(terminal.Dim, "("+e.By+")"))
			}
		}
	}
}

// remarks writes the notes, warnings and errors about the server and its tools.
func (x *planPage) remarks(tools []toolReport) {
	warnings, broken := x.target.WarningTexts(), []string(nil)
	for _, r := range tools {
		for _, w := range r.Warnings {
			warnings = append(warnings, "tool "+r.Name+": "+w)
		}
		for _, e := range r.Errors {
			broken = append(broken, "tool "+r.Name+": "+e)
		}
	}
	x.section("notes", terminal.Bold, append(x.plan.Notes, remarkTexts(x.target.Policy)...))
	x.section("warnings", terminal.Yellow, warnings)
	x.section("cannot be called", terminal.Red, broken)
}
