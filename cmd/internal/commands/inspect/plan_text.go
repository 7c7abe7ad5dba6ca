package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// planPage is the text of a plan while it is built.
type planPage struct {
	strings.Builder
	console terminal.Console
	target  *session.Target
	plan    *confine.Plan
	verbose bool // also shows what enforces each part, and what every server gets
}

// text returns the plan as text: the resolved policy, what enforces it, and what is not
// enforced.
func (x *planPage) text(open *confine.GapError, tools []toolReport) string {
	t, plan := x.target, x.plan
	if len(plan.Enforced) == 0 && len(plan.Gaps) > 0 {
		fmt.Fprintf(x, "%s %s. The policy is:\n\n", x.console.Paint(terminal.Red, "nothing below is enforced here:"), show.Line(plan.Gaps[0].Why))
	}
	x.server()
	x.heading("files", x.enforcedBy(policy.AxisFs))
	x.files()
	x.heading("network", x.enforcedBy(policy.AxisNet))
	x.WriteString(networkText(t.Profile, slices.ContainsFunc(plan.Gaps, func(g confine.Gap) bool { return g.Axis == policy.AxisNet })))
	x.heading("environment", x.enforcedBy(policy.AxisEnv))
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
	if !x.verbose {
		fmt.Fprintf(x, "\n%s\n", x.console.Paint(terminal.Dim, "--verbose shows what enforces each part, and what every server gets"))
	}
	return x.String()
}

// enforcedBy returns what enforces an axis if the plan is verbose or if nothing does, else "".
func (x *planPage) enforcedBy(axis policy.Axis) string {
	if how := enforcedBy(x.plan, axis); x.verbose || how == notEnforced {
		return how
	}
	return ""
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
		fmt.Fprintf(x, "  %s\n", strings.ReplaceAll(show.Lines(l), "\n", "\n    "))
	}
}

func (x *planPage) columns() *tabwriter.Writer { return tabwriter.NewWriter(x, 0, 0, 2, ' ', 0) }

func (x *planPage) server() {
	p := x.target.Profile
	fmt.Fprintf(x, "%s  %s\n", x.console.Paint(terminal.Bold, show.Name(p.Server)), show.Line(describePolicy(x.target.Policy)))
	w := x.columns()
	row := func(name, value string) { fmt.Fprintf(w, "  %s\t%s\n", name, show.Line(value)) }
	if text := x.target.Package.Text(); text != "" {
		row("package", text)
	}
	if name := x.target.Preset(); name != "" {
		row("preset", name)
	}
	row("program", x.short(p.Program))
	row("arguments", show.Spelled(p.Argv))
	row("workspace", cmp.Or(x.short(p.Workspace), "none"))
	if p.Dir != p.Workspace || x.verbose {
		row("directory", x.short(p.Dir))
	}
	home := "only the variable: access to the directory takes rules"
	if p.HomePrivate {
		home = "private, kept between sessions"
	}
	if e, _ := p.Find(p.Home); e.Ephemeral {
		home = "private, a copy that is discarded at the end"
	}
	row("home", x.short(p.Home)+"  ("+home+")")
	switch p.Startup {
	case policy.DefaultStartup:
	case 0:
		row("start-up", "may take for ever")
	default:
		row("start-up", fmt.Sprintf("may take %v", p.Startup))
	}
	w.Flush()
}

// short writes the user's home directory as ~.
func (x *planPage) short(path string) string { return cli.ShortPath(path, x.target.Host.Home) }

func (x *planPage) files() {
	p := x.target.Profile
	row := func(rights, name, origin string) {
		fmt.Fprintf(x, "  %-18s  %s  %s\n", rights, show.Line(name), x.console.Paint(terminal.Dim, show.Line(origin)))
	}
	var runtime []string // in one paragraph
	isRule := func(e policy.Entry) bool { return e.Origin == policy.OriginRule }
	isOther := func(e policy.Entry) bool { return !isRule(e) }
	entries := slices.Concat(slices.DeleteFunc(slices.Clone(p.Entries), isOther), slices.DeleteFunc(slices.Clone(p.Entries), isRule))
	for _, e := range entries {
		if e.Origin == policy.OriginBaseline && e.Rule == resolve.BaselineRule && e.Rights == policy.Read|policy.Execute {
			runtime = append(runtime, e.Path)
			continue
		}
		row(e.Rights.String(), entryName(e, x.target.Host.Home), originText(e))
	}
	tmp := "/tmp, /dev/shm"
	if x.plan.HostNamespaces.Answer == confine.No {
		tmp = "TMPDIR"
	}
	row("read write execute", tmp, "private, removed at the end")
	if !x.verbose {
		row("read execute", "/usr and what programs need of /etc", "as every server")
		return
	}
	fmt.Fprintf(x, "  read execute, in every policy:\n")
	cli.WriteWrapped(&x.Builder, "    ", runtime)
	if len(p.Links) > 0 {
		var links []string
		for _, l := range p.Links {
			links = append(links, l.Path+" -> "+l.Target)
		}
		fmt.Fprintf(x, "  symbolic links:\n")
		cli.WriteWrapped(&x.Builder, "    ", links)
	}
}

func (x *planPage) environment() {
	p := x.target.Profile
	usual := 0
	for _, v := range p.Env {
		if !x.verbose && (v.Rule == policy.MinimalEnvironment || strings.HasPrefix(v.Rule, policy.OwnVariable)) {
			usual++
			continue
		}
		value := v.Value
		switch {
		case v.Secret:
			value = "(not shown: granted by name)"
		case v.Name == policy.StatementVar:
			value = "(this policy, for the server to read)"
		}
		fmt.Fprintf(x, "  %s=%s\n", v.Name, show.Line(cli.Truncate(value, 120)))
	}
	if usual > 0 {
		fmt.Fprintf(x, "  %s of every server, such as PATH and HOME\n", cli.Plural(usual, "variable"))
	}
	if len(p.Withheld) > 0 && !x.verbose {
		fmt.Fprintf(x, "  %s of yours withheld\n", cli.Plural(len(p.Withheld), "variable"))
	} else if len(p.Withheld) > 0 {
		fmt.Fprintf(x, "  withheld:\n")
		cli.WriteWrapped(&x.Builder, "    ", p.Withheld)
	}
}

func (x *planPage) programs() {
	if programs := x.target.Profile.Programs; programs == nil {
		fmt.Fprintln(x, "  any program that the filesystem rules let the server execute")
	} else {
		fmt.Fprintf(x, "  only: %s\n", show.Line(strings.Join(programs, " ")))
	}
	for _, c := range x.target.Profile.Commands {
		fmt.Fprintf(x, "  %s\n", show.Line(commandText(c)))
	}
	for _, axes := range [][]policy.Axis{{policy.AxisLimits}, {policy.AxisIPC, policy.AxisProcess}} {
		for _, e := range x.plan.Enforced {
			if by := x.console.Paint(terminal.Dim, "  ("+e.By+")"); slices.Contains(axes, e.Axis) {
				if !x.verbose {
					by = ""
				}
				fmt.Fprintf(x, "  %s%s\n", e.What, by)
			}
		}
	}
}

// ruleWords returns the words of a command rule. It quotes a word that could be taken for
// several.
func ruleWords(list []string) string {
	words := make([]string, len(list))
	for i, w := range list {
		if words[i] = w; w == "" || strings.ContainsAny(w, " ,\t\r\n\"\\") {
			words[i] = show.TOML(w)
		}
	}
	return strings.Join(words, " ")
}

// commandText returns a command rule in one line.
func commandText(c policy.Command) string {
	args := []string{"any arguments"}
	if c.Args != nil {
		args = nil
		for _, list := range c.Args {
			words := "no arguments"
			if len(list) > 0 {
				words = ruleWords(list)
			}
			args = append(args, words)
		}
	}
	text := ruleWords([]string{c.Name}) + "  " + strings.Join(args, ", or ")
	if c.OnlyEnvs {
		text += "; no variables but the minimal environment"
		if len(c.Envs) > 0 {
			text += " and " + strings.Join(c.Envs, ", ")
		}
	}
	if c.Where != "" {
		text += "  " + c.Where
	}
	return text
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
	x.section("notes", terminal.Bold, append(x.plan.Notes, append(undoRemark(x.target.Policy), remarkTexts(x.target.Policy)...)...))
	x.section("warnings", terminal.Yellow, warnings)
	x.section("cannot be called", terminal.Red, broken)
}
