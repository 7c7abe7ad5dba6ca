package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
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

func (page *planPage) text(open *confine.GapError, tools []toolReport) string {
	t, plan := page.target, page.plan
	if text := confine.NotHeld(t.Host.OS); text != "" {
		page.WriteString(text + "\n\n")
	}
	if len(plan.Enforced) == 0 && len(plan.Gaps) > 0 {
		fmt.Fprintf(page, "%s %s. The policy is:\n\n", page.console.Paint(terminal.Red, "nothing below is enforced here:"), show.Line(plan.Gaps[0].Why))
	}
	page.server()
	page.heading("files", page.enforcedBy(policy.AxisFs))
	page.files()
	page.heading("network", page.enforcedBy(policy.AxisNet))
	if t.Host.OS == "windows" {
		page.WriteString("  every host and port: no jail on Windows holds any. The rules are:\n")
	}
	page.WriteString(networkText(t.Profile, slices.ContainsFunc(plan.Gaps, func(g confine.Gap) bool { return g.Axis == policy.AxisNet })))
	page.heading("environment", page.enforcedBy(policy.AxisEnv))
	page.environment()
	page.leaks()
	page.heading("programs and limits", "")
	page.programs()
	if !t.Policy.Stateful && t.Policy.Tool == "" {
		page.heading("tools", "each call in a process of its own")
		rows := slices.Clone(tools)
		if !t.Config.HasAnyTool(t.Policy.Server) {
			rows = append(rows, toolReport{Policy: "the default policy", Warm: t.Policy.Warm})
		}
		rows[len(rows)-1].Name = "(any other)"
		page.WriteString(toolTable("  ", rows))
	}
	var settings []string
	for _, s := range t.Policy.Settings {
		settings = append(settings, s.String())
	}
	page.section("settings", terminal.Bold, settings)
	page.remarks(tools)
	page.section("no namespaces", terminal.Red, namespaceAdvice(plan, open))
	page.section("does not hold", terminal.Red, append(gapTexts(plan.Gaps), platformAdvice(open)...))
	if !page.verbose {
		fmt.Fprintf(page, "\n%s\n", page.console.Paint(terminal.Dim, "--verbose shows what enforces each part, and what every server gets"))
	}
	return page.String()
}

func (page *planPage) enforcedBy(axis policy.Axis) string {
	if how := enforcedBy(page.plan, axis); page.verbose || how == notEnforced {
		return how
	}
	return ""
}

func (page *planPage) heading(title, how string) {
	if how != "" {
		how = "  " + page.console.Paint(terminal.Dim, how)
	}
	fmt.Fprintf(page, "\n%s%s\n", page.console.Paint(terminal.Bold, title), how)
}

// section writes items below a title. Without items it writes nothing.
func (page *planPage) section(title, code string, items []string) {
	for i, l := range items {
		if i == 0 {
			fmt.Fprintf(page, "\n%s\n", page.console.Paint(code, title))
		}
		fmt.Fprintf(page, "  %s\n", strings.ReplaceAll(show.Lines(l), "\n", "\n    "))
	}
}

func (page *planPage) columns() *tabwriter.Writer { return tabwriter.NewWriter(page, 0, 0, 2, ' ', 0) }

func (page *planPage) server() {
	p := page.target.Profile
	fmt.Fprintf(page, "%s  %s\n", page.console.Paint(terminal.Bold, show.Name(p.Server)), show.Line(describePolicy(page.target.Policy)))
	w := page.columns()
	row := func(name, value string) { fmt.Fprintf(w, "  %s\t%s\n", name, show.Line(value)) }
	if text := page.target.Package.Text(); text != "" {
		row("package", text)
	}
	if name := page.target.Preset(); name != "" {
		row("preset", name)
	}
	row("program", page.short(p.Program))
	row("arguments", shown.Line(p.Argv))
	row("workspace", cmp.Or(page.short(p.Workspace), "none"))
	if p.Dir != p.Workspace || page.verbose {
		row("directory", page.short(p.Dir))
	}
	home := "only the variable: access to the directory takes rules"
	if p.HomePrivate {
		home = "private, kept between sessions"
	}
	if e, _ := p.Find(p.Home); e.Ephemeral && p.HomePrivate {
		home = "private, a copy that is discarded at the end"
	}
	row("home", page.short(p.Home)+"  ("+home+")")
	switch p.Startup {
	case policy.DefaultStartup:
	case 0:
		row("start-up", "may take for ever")
	default:
		row("start-up", fmt.Sprintf("may take %v", p.Startup))
	}
	w.Flush()
}

func (page *planPage) short(path string) string { return cli.ShortPath(path, page.target.Host.Home) }

func (page *planPage) files() {
	p := page.target.Profile
	row := func(rights, name, origin string) {
		fmt.Fprintf(page, "  %-18s  %s  %s\n", rights, show.Line(name), page.console.Paint(terminal.Dim, show.Line(origin)))
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
		name := entryName(e, page.target.Host.Home)
		if e.Rights != 0 && slices.ContainsFunc(p.HomeLinks, func(l policy.HomeLink) bool { return l.Target == e.Path }) {
			name += ", also in HOME"
		}
		row(e.Rights.String(), name, originText(e))
	}
	if page.target.Host.OS == "windows" {
		row("all that you may", "every file", "no jail on Windows holds which are read")
		row("", "TEMP", "a directory of the session, removed at the end")
		return
	}
	own := placesOf(page.target.Host.OS)
	if page.plan.HostNamespaces.Answer == confine.No {
		own.temporary = "TMPDIR"
	}
	row("read write execute", own.temporary, "private, removed at the end")
	if p.GitConfig != "" {
		row("read", own.gitConfig, "the jail's own: your configuration of git, without what starts a program")
	}
	if !page.verbose {
		row("read execute", own.baseline, "as every server")
		return
	}
	fmt.Fprintf(page, "  read execute, in every policy:\n")
	cli.WriteWrapped(&page.Builder, "    ", runtime, page.console.TextColumns())
	if len(p.Links) > 0 {
		var links []string
		for _, l := range p.Links {
			links = append(links, l.Path+" -> "+l.Target)
		}
		fmt.Fprintf(page, "  symbolic links:\n")
		cli.WriteWrapped(&page.Builder, "    ", links, page.console.TextColumns())
	}
}

// ownPlaces are what every jail has, as a plan names it.
type ownPlaces struct{ temporary, gitConfig, baseline string }

func placesOf(os string) ownPlaces {
	if os == "darwin" {
		return ownPlaces{"TMPDIR", "TMPDIR/gitconfig", "/usr, /System/Library and what programs need of /private/etc"}
	}
	return ownPlaces{"/tmp, /dev/shm", "/etc/gitconfig", "/usr and what programs need of /etc"}
}

func (page *planPage) environment() {
	p := page.target.Profile
	usual := 0
	for _, v := range p.Env {
		if !page.verbose && (v.Rule == policy.MinimalEnvironment || strings.HasPrefix(v.Rule, policy.OwnVariable)) {
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
		fmt.Fprintf(page, "  %s=%s\n", v.Name, show.Line(cli.Truncate(value, 120)))
	}
	if usual > 0 {
		fmt.Fprintf(page, "  %s of every server, such as PATH and HOME\n", cli.Plural(usual, "variable"))
	}
	if len(p.Withheld) > 0 && !page.verbose {
		fmt.Fprintf(page, "  %s of yours withheld\n", cli.Plural(len(p.Withheld), "variable"))
	} else if len(p.Withheld) > 0 {
		fmt.Fprintf(page, "  withheld:\n")
		cli.WriteWrapped(&page.Builder, "    ", p.Withheld, page.console.TextColumns())
	}
}

func (page *planPage) programs() {
	if programs := page.target.Profile.Programs; programs == nil {
		fmt.Fprintln(page, "  any program that the filesystem rules let the server execute")
	} else {
		fmt.Fprintf(page, "  only: %s\n", show.Line(strings.Join(programs, " ")))
	}
	for _, c := range page.target.Profile.Commands {
		fmt.Fprintf(page, "  %s\n", show.Line(commandText(c)))
	}
	for _, axes := range [][]policy.Axis{{policy.AxisLimits}, {policy.AxisIPC, policy.AxisProcess}} {
		for _, e := range page.plan.Enforced {
			if by := page.console.Paint(terminal.Dim, "  ("+e.By+")"); slices.Contains(axes, e.Axis) {
				if !page.verbose {
					by = ""
				}
				fmt.Fprintf(page, "  %s%s\n", e.What, by)
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

func (page *planPage) remarks(tools []toolReport) {
	warnings, broken := page.target.WarningTexts(), []string(nil)
	for _, r := range tools {
		for _, w := range r.Warnings {
			warnings = append(warnings, "tool "+r.Name+": "+w)
		}
		for _, e := range r.Errors {
			broken = append(broken, "tool "+r.Name+": "+e)
		}
	}
	page.section("notes", terminal.Bold, append(page.plan.Notes, append(undoRemark(page.target.Policy), remarkTexts(page.target.Policy, page.target.Host.OS)...)...))
	page.section("warnings", terminal.Yellow, warnings)
	page.section("cannot be called", terminal.Red, broken)
}
