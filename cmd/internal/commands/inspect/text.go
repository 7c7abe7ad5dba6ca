package inspect

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/leak"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// page is the text of a report while it is built.
type page struct {
	strings.Builder
	*Report
	console terminal.Console
	verbose bool
}

// Text returns the report as text for a console.
func (r *Report) Text(c terminal.Console, verbose bool) string {
	p := &page{Report: r, console: c, verbose: verbose}
	if text := confine.NotHeld(r.os); text != "" {
		p.WriteString(text + "\n\n")
	}
	if len(r.Enforced) == 0 && len(r.Gaps) > 0 {
		fmt.Fprintf(p, "%s %s. The policy is:\n\n", c.Paint(terminal.Red, "nothing below is enforced on this machine:"), show.Line(r.Gaps[0].Why))
	}
	p.server()
	p.section("files", terminal.Bold, p.files())
	p.section("network", terminal.Bold, networkLines(r.Profile))
	p.section("variables", terminal.Bold, p.variables())
	p.section("leaks", terminal.Bold, leakLines(r.Profile))
	p.section("programs", terminal.Bold, programLines(r.Profile))
	p.section("limits", terminal.Bold, limitLines(r.Profile))
	if r.Tools != nil || r.hasRest {
		p.tools()
	}
	p.section("settings", terminal.Bold, texts(r.Settings))
	p.section("notes", terminal.Bold, r.Notes)
	p.warnings()
	p.section("not enforced on this machine", terminal.Red, p.gaps())
	if verbose {
		p.section("what enforces it", terminal.Bold, enforcementLines(r.Enforced))
	}
	return terminal.ShortHome(p.String(), r.home)
}

// section writes lines below a title. Without lines it writes nothing.
func (p *page) section(title, code string, lines []string) {
	for i, l := range lines {
		if i == 0 {
			fmt.Fprintf(p, "\n%s\n", p.console.Paint(code, title))
		}
		fmt.Fprintf(p, "  %s\n", strings.ReplaceAll(show.Lines(l), "\n", "\n    "))
	}
}

func texts[T fmt.Stringer](items []T) (lines []string) {
	for _, item := range items {
		lines = append(lines, item.String())
	}
	return lines
}

func (p *page) short(path string) string { return cli.ShortPath(path, p.home) }

func (p *page) server() {
	title := show.Name(p.Profile.Server)
	if p.policy.Tool != "" {
		title += ", tool " + show.InSentence(p.policy.Tool)
	}
	fmt.Fprintf(p, "%s\n", p.console.Paint(terminal.Bold, title))
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(p, "  %-14s  %s\n", name, show.Line(value))
		}
	}
	if !p.policy.FromCommandLine {
		row("policy", p.policy.Where)
	}
	if p.policy.Default {
		row("may use", defaultAccess)
	}
	if !p.policy.Stateful {
		row("process", "a new one for each call")
	}
	row("tools", strings.Join(p.Switches.Texts(), ", "))
	row("package", p.pkg)
	row("preset", p.Preset)
	row("program", p.short(p.Profile.Program))
	row("arguments", terminal.ShownLine(p.Profile.Argv))
	row("project folder", cmp.Or(p.short(p.Profile.Workspace), "none"))
	if here, _ := os.Getwd(); p.policy.Workspace == "" && here == p.Profile.Workspace {
		row("", "this folder now, and for a client the one that it starts the server in")
	}
	if p.Profile.Dir != p.Profile.Workspace || p.verbose {
		row("starts in", p.short(p.Profile.Dir))
	}
	for _, axis := range p.Profile.Waive {
		row("accepted", "a weaker jail: "+cmp.Or(axisNames[axis], string(axis)))
	}
	if !p.Profile.HomePrivate {
		row("HOME", p.short(p.Profile.Home)+", of which it sees what the files below say")
	}
}

// files has a line for each path. What every server has is one line at the end, or with verbose each path.
func (p *page) files() (lines []string) {
	row := func(rights, name, origin string) {
		lines = append(lines, fmt.Sprintf("%-18s  %s  %s", rights, show.Line(name), p.console.Paint(terminal.Dim, show.Line(origin))))
	}
	isRule := func(e policy.Entry) bool { return e.Origin == policy.OriginRule }
	rules, rest := slices.Clone(p.Profile.Entries), slices.Clone(p.Profile.Entries)
	var runtime []string
	rest = slices.DeleteFunc(rest, isRule)
	rules = slices.DeleteFunc(rules, func(e policy.Entry) bool { return !isRule(e) })
	for _, e := range append(rules, rest...) {
		if e.Origin == policy.OriginBaseline && e.Rule == resolve.BaselineRule && e.Rights == policy.Read|policy.Execute {
			runtime = append(runtime, e.Path)
			continue
		}
		name := entryName(e, p.home)
		if e.Rights != 0 && slices.ContainsFunc(p.Profile.HomeLinks, func(l policy.HomeLink) bool { return l.Target == e.Path }) {
			name += ", also in HOME"
		}
		row(strings.Replace(e.Rights.String(), "nothing", "hidden", 1), name, originText(e))
	}
	for _, r := range p.missing {
		row(r.Rights().String(), r.Path, placeOf(r.Label())+", not there now")
	}
	own := placesOf(p.os)
	if p.HostNamespaces != nil {
		own.temporary = "TMPDIR"
	}
	if p.os == "windows" {
		row("all that you may", "every file", "no jail on Windows holds which are read")
	}
	row("read write execute", own.temporary, "its own, removed at the end")
	if p.Profile.GitConfig != "" && own.gitConfig != "" {
		row("read", own.gitConfig, "its own: your configuration of git, without what starts a program")
	}
	if own.baseline != "" && !p.verbose {
		row("read execute", own.baseline, "as every server")
	}
	if p.verbose {
		lines = append(lines, "every server may read and execute:\n"+strings.Join(runtime, ", "))
		var links []string
		for _, l := range p.Profile.Links {
			links = append(links, l.Path+" -> "+l.Target)
		}
		lines = append(lines, "symbolic links:\n"+strings.Join(links, ", "))
	}
	return lines
}

// ownPlaces are what every jail has, as a plan names it.
type ownPlaces struct{ temporary, gitConfig, baseline string }

func placesOf(os string) ownPlaces {
	switch os {
	case "windows":
		return ownPlaces{temporary: "TEMP"}
	case "darwin":
		return ownPlaces{"TMPDIR", "TMPDIR/gitconfig", "/usr, /System/Library and what programs need of /private/etc"}
	}
	return ownPlaces{"/tmp, /dev/shm", "/etc/gitconfig", "/usr and what programs need of /etc"}
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

// originText says why an entry is there. For a rule in a file it returns only the place, because the path is in the column before.
func originText(e policy.Entry) string {
	switch e.Origin {
	case policy.OriginBaseline:
		if e.Rule == resolve.BaselineRule {
			return "as every server"
		}
	case policy.OriginHome:
		if e.Ephemeral {
			return "a copy of its own HOME"
		}
		return "its own HOME"
	case policy.OriginSensitive:
		if e.Named != resolve.HostSocket {
			return "sensitive"
		}
	case policy.OriginProtected:
		return "protected"
	case policy.OriginRule:
		return placeOf(e.Rule)
	}
	return e.Rule
}

// placeOf returns the file and line of a rule, without its path.
func placeOf(rule string) string {
	if rule == policy.DefaultSource {
		return "the project folder"
	}
	place, _, _ := strings.Cut(rule, ": path = ")
	place, _, _ = strings.Cut(place, ": workspace = ")
	return place
}

func networkLines(p *policy.Profile) (lines []string) {
	for _, r := range p.Net {
		lines = append(lines, netRuleText(r))
	}
	for _, port := range p.Inbound {
		lines = append(lines, fmt.Sprintf("programs on this machine reach the server at port %d", port))
	}
	if lines == nil {
		return []string{"none"}
	}
	return lines
}

func portText(r policy.NetRule) string {
	ports := r.Ports()
	switch {
	case !r.Allow && r.Port == 0:
		return " on every port"
	case len(ports) == 2:
		return fmt.Sprintf(" ports %d and %d", ports[0], ports[1])
	}
	return fmt.Sprintf(" port %d", ports[0])
}

func netRuleText(r policy.NetRule) string {
	verb := "block"
	if r.Allow {
		verb = "allow"
	}
	words := []string{verb, r.Host}
	for _, word := range append([]string{r.Scheme, strings.TrimSpace(portText(r)), r.PathPrefix}, r.Methods...) {
		if word != "" {
			words = append(words, word)
		}
	}
	s := strings.Join(words, " ")
	for _, secret := range r.Secrets {
		s += " with the secret " + secret.Env
		switch {
		case secret.File != "":
			s += " (the content of " + secret.File + ")"
		case secret.Command != nil:
			s += " (the output of " + show.Spelled(secret.Command) + ", which runs outside the jail)"
		}
		if secret.Header != nil {
			s += " in " + strings.Join(secret.Header, ", ")
		}
	}
	return s
}

func (p *page) variables() (lines []string) {
	usual := 0
	for _, v := range p.Profile.Env {
		if !p.verbose && (v.Rule == policy.MinimalEnvironment || strings.HasPrefix(v.Rule, policy.OwnVariable) || strings.HasPrefix(v.Rule, policy.AuthorityRule)) {
			usual++
			continue
		}
		value := v.Value
		switch {
		case v.Value == policy.Placeholder(v.Name):
			value = "(a placeholder: mcp-jail adds the secret to requests)"
		case v.Secret:
			value = "(not shown)"
		case v.Name == policy.StatementVar:
			value = "(this policy, for the server to read)"
		case !p.verbose:
			value = cli.Truncate(v.Value, 120)
		}
		lines = append(lines, v.Name+"="+value)
	}
	if usual > 0 {
		lines = append(lines, cli.Plural(usual, "variable")+" that every server gets, such as PATH and HOME")
	}
	if n := len(p.Profile.Withheld); n > 0 && p.verbose {
		lines = append(lines, "your other variables are hidden:\n"+strings.Join(p.Profile.Withheld, ", "))
	} else if n > 0 {
		lines = append(lines, "your other variables are hidden ("+fmt.Sprint(n)+")")
	}
	return lines
}

// leakLines says which secrets are looked for in the messages of the server.
func leakLines(p *policy.Profile) (lines []string) {
	sought, others := leak.Sought(p.Env)
	var names []string
	for _, s := range sought {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	if p.LeakPatterns {
		names = append(names, "tokens of well-known kinds (leak_patterns)")
	}
	list := strings.Join(names, ", ")
	switch {
	case p.Leaks == policy.LeaksOff && list != "":
		return []string{`not looked for in what the server sends, since leaks is "off": ` + list}
	case p.Leaks == policy.LeaksOff:
		return nil
	case p.Leaks == policy.LeaksBlock && list != "":
		lines = append(lines, "blocked in what the server sends: "+list)
	case list != "":
		lines = append(lines, "a warning if the server sends it: "+list)
	}
	for _, o := range others {
		lines = append(lines, "not looked for: "+o.Name+", since "+o.Why)
	}
	return lines
}

func programLines(p *policy.Profile) (lines []string) {
	if p.Programs == nil {
		return []string{"every program that it may execute in the files above"}
	}
	lines = append(lines, "only: "+strings.Join(p.Programs, " "))
	for _, c := range p.Commands {
		lines = append(lines, commandText(c))
	}
	if p.AndCommands != nil {
		lines = append(lines, "and of these only what the project's file allows too:")
	}
	for _, c := range p.AndCommands {
		lines = append(lines, commandText(c))
	}
	return lines
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
	if c.Envs != nil {
		text += ", with no variables but those of every server"
		if len(c.Envs) > 0 {
			text += " and " + strings.Join(c.Envs, ", ")
		}
	}
	if c.Where != "" {
		text += "  " + c.Where
	}
	return text
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

func limitLines(p *policy.Profile) []string {
	l := p.Limits
	lines := []string{fmt.Sprintf("%d MB of memory, %d processes and threads, %d open files a process, %d MB a file, %d MB a message", l.MemoryMB, l.Processes, l.OpenFiles, l.FileSizeMB, l.MessageMB)}
	switch p.Startup {
	case policy.DefaultStartup:
	case 0:
		lines = append(lines, "it may take for ever to start")
	default:
		lines = append(lines, fmt.Sprintf("%.0f s to start", p.Startup.Seconds()))
	}
	if p.Call > 0 {
		lines = append(lines, fmt.Sprintf("%.0f s a call", p.Call.Seconds()))
	}
	return lines
}

func (p *page) tools() {
	rows := slices.Clone(p.Tools)
	if p.hasRest {
		rows = append(rows, toolReport{Policy: defaultAccess, Warm: p.policy.Warm})
	}
	rows[len(rows)-1].Name = "(any other)"
	fmt.Fprintf(p, "\n%s\n%s", p.console.Paint(terminal.Bold, "tools"), toolTable(rows))
}

func (p *page) warnings() {
	warnings, broken := slices.Clone(p.Warnings), []string(nil)
	for _, t := range p.Tools {
		for _, w := range t.Warnings {
			warnings = append(warnings, "tool "+t.Name+": "+w)
		}
		for _, e := range t.Errors {
			broken = append(broken, "tool "+t.Name+": "+e)
		}
	}
	p.section("warnings", terminal.Yellow, warnings)
	p.section("cannot be called", terminal.Red, broken)
}

// axisNames are the parts of a policy in words.
var axisNames = map[policy.Axis]string{
	policy.AxisFs: "files", policy.AxisNet: "network", policy.AxisIPC: "other programs", policy.AxisProcess: "processes", policy.AxisEnv: "variables", policy.AxisLimits: "limits",
}

// gaps says what this machine does not enforce, why, and what would change that.
func (p *page) gaps() (lines []string) {
	for _, g := range p.Gaps {
		line := axisNames[g.Axis] + ": " + g.What + ": " + g.Why
		if g.Fix != "" && g.Fix != confine.FixNamespaces && (g.Platform == "" || g.Fatal) {
			line += "\n" + g.Fix
		}
		if g.Waived {
			line = "(accepted) " + line
		}
		lines = append(lines, line)
	}
	if p.HostNamespaces != nil {
		lines = append(lines, "This machine does not allow user namespaces: "+p.HostNamespaces.Detail+"\n"+p.HostNamespaces.Fix)
	}
	if p.open != nil && p.open.Waive != nil && (p.HostNamespaces != nil || p.open.OfPlatform()) {
		lines = append(lines, p.open.WaiveLine())
	}
	return lines
}

func enforcementLines(all []confine.Enforcement) (lines []string) {
	for _, e := range all {
		lines = append(lines, fmt.Sprintf("%s: %s  (%s)", axisNames[e.Axis], e.What, e.By))
	}
	return lines
}
