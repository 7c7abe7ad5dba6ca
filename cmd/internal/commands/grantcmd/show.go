package grantcmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// How says how a change is written.
type How struct {
	Yes    bool   // without a question
	DryRun bool   // not at all
	Named  bool   // the user has named or agreed to what may do harm
	agreed bool   // the user has agreed to all of it
	asks   string // the question; "" is the usual one
	why    []string
}

// Write shows the difference, asks, and writes the file.
func (e *Edit) Write(c terminal.Console, how How) error {
	whole := e.File
	if e.isTable() || e.isLine() {
		c.PrintText(show.Name(e.Name) + "  " + e.place + "\n")
	}
	if e.isLine() && e.dir != "" {
		c.PrintText("  for " + terminal.ShownLine(e.words) + "  started in " + e.Short(e.dir) + "\n")
	}
	for _, n := range e.notes {
		c.PrintText(n + "\n")
	}
	taken := e.takenAway(whole)
	if taken != "" {
		note(c, taken)
	}
	if string(whole.Encode()) == string(e.before.Encode()) {
		if taken == "" && len(e.left) == 0 && !e.remove {
			return e.nothing(c, how)
		}
		return nil
	}
	can := how.why
	var apart []string
	for _, p := range e.parts {
		more, err := e.show(c, p, whole)
		if err != nil {
			return err
		}
		apart = append(apart, more...)
		if !e.remove {
			can = append(e.consequences(), can...)
		}
		if !e.remove {
			beware, alone := e.judged(p.objects, how.Named)
			can, apart = append(can, beware...), append(alone, apart...)
		}
	}
	e.File = whole
	if e.isTable() {
		return e.writeOut(c, how, append(can, apart...))
	}
	can = append(can, "This is saved in "+e.Short(e.File.Path)+".")
	can = append(can, e.sayRunning(c, how)...)
	c.Printf("\n%s\n\n", terminal.Hang("", "", strings.Join(can, " "), c.TextColumns()))
	if how.DryRun {
		c.Printf("Nothing was changed (--dry-run).\n")
		return nil
	}
	var err error
	if e.shown, err = e.decided(); err != nil {
		return err
	}
	if err := e.confirm(c, how, apart); err != nil {
		return err
	}
	return e.commit(c)
}

// show shows what the grants to one tool change, rule by rule, and returns what is to be asked for apart.
func (e *Edit) show(c terminal.Console, p part, whole *config.ServerFile) (apart []string, err error) {
	e.File, e.now = whole, map[string]*checked{}
	if err := e.use(p.tool); err != nil {
		return nil, err
	}
	before, after := e.was[p.tool], e.now[p.tool]
	warnings, err := after.since(before)
	if err != nil {
		return nil, err
	}
	switch p.tool {
	case "":
	case config.AnyTool:
		c.PrintText("\n  for all tools without rules of their own:\n")
	default:
		c.PrintText(fmt.Sprintf("\n  for the tool %s:\n", show.InSentence(p.tool)))
	}
	if e.grants.Table, err = e.tableOf(p.objects); err != nil {
		return nil, err
	}
	rest := e.rest(before, after)
	c.PrintText("\n" + table80(e.rows(p.objects, before, after, rest)))
	for _, w := range warnings {
		note(c, w)
	}
	return e.givenBack(p.objects, rest), nil
}

func note(c terminal.Console, text string) {
	c.PrintText(fmt.Sprintf("  %s %s\n", c.Paint(terminal.Yellow, "note:"), show.Line(text)))
}

// rows returns a row for each thing that differs between two policies, and one for each object of which that is not known:
// what it is, and what the server may do with it now and then. What is no right has its row to itself.
func (e *Edit) rows(objects []change.Object, before, after *checked, rest []config.Change) (all [][3]string) {
	was, is := before.target.Profile, after.target.Profile
	known := was != nil && is != nil && len(is.Entries) > 0
	var rows []change.Row
	if known {
		rows = change.Rows(was, is)
	}
	has := func(o change.Object) bool {
		return slices.ContainsFunc(rows, func(r change.Row) bool { return o.Has(r, e.within) })
	}
	for _, o := range objects {
		_, err := os.Lstat(e.At(o.Fs.Path))
		absent := o.Env != "" || o.Fs.Rights() != 0 && err != nil
		if row := o.Row(); !row.Is.IsZero() && (!known || absent && !has(o)) {
			if row.Axis == policy.AxisFs {
				row.Name = e.At(o.Fs.Path)
			}
			if e.remove {
				row.Was, row.Is = row.Is, row.Was
			}
			rows = append(rows, row)
		}
	}
	all = change.Table(rows, e.shortReal)
	for _, o := range objects {
		if o.Fs.Deny != 0 && !has(o) {
			now := map[bool]string{true: "yes", false: "no"}
			all = append(all, [3]string{show.Line("hides " + o.Fs.Path), now[e.remove], now[!e.remove]})
		}
	}
	for _, ch := range rest {
		all = append(all, [3]string{show.Line(ch.Text)})
	}
	return all
}

// within reports whether a path of a profile lies where a path that is named leads.
func (e *Edit) within(path, named string) bool { return hostfs.Within(e.host.OS, path, e.At(named)) }

// shortReal returns a path without links for people.
func (e *Edit) shortReal(path string) string {
	return (person{e.host.OS, session.ResolveLinks(e.host.Home), e.host.Dir}).short(path, "")
}

// table80 writes rows in columns.
func table80(rows [][3]string) string {
	var b strings.Builder
	var first, second int
	for _, r := range rows {
		if r[1] != "" {
			first, second = max(first, utf8.RuneCountInString(r[0])), max(second, utf8.RuneCountInString(r[1]))
		}
	}
	for _, r := range rows {
		if r[1] == "" {
			b.WriteString("  " + r[0] + "\n")
		} else {
			fmt.Fprintf(&b, "  %-*s    now: %-*s    new: %s\n", first, r[0], second, r[1], r[2])
		}
	}
	return b.String()
}

// consequences says what the server can then do with what is granted.
func (e *Edit) consequences() (all []string) {
	t, who := e.grants.Table, show.Name(e.word)
	say := func(format string, args ...any) {
		begin := who + " can then "
		if len(all) > 0 {
			begin = "It can also "
		}
		all = append(all, begin+fmt.Sprintf(format, args...)+".")
	}
	for _, r := range e.now[e.tool].target.Policy.Fs {
		if r.Workspace && t.Workspace != "" {
			r.Path = t.Workspace
			e.sayFile(say, r)
		}
	}
	if t.Home == "real" {
		say("see the name of your home folder, but no more files in it")
	}
	if t.Access != nil {
		for _, r := range t.Access.Fs {
			e.sayFile(say, r)
		}
		for _, r := range t.Access.Inbound {
			say("be reached on port %d, by every program of this machine", r.Port)
		}
		for _, r := range t.Access.Net {
			if r.Allow {
				say("send everything that it can read to %s", map[bool]string{false: show.Name(r.Host), true: "any host"}[r.Host == "*"])
			}
		}
	}
	for _, v := range t.Variables {
		say("use the value of %s", show.Name(v.Name))
	}
	if len(all) > 4 {
		return nil // the rows say it
	}
	return all
}

// sayFile says what the server can do with a file or folder by a rule.
func (e *Edit) sayFile(say func(string, ...any), r policy.FsRule) {
	at, name, does, but := e.At(r.Path), e.Short(r.Path), "read", ", except keys and passwords"
	info, err := os.Stat(at)
	isDir := err != nil || info.IsDir()
	switch rights := r.Rights(); {
	case rights == 0:
		does, but, isDir = "no longer read or change", "", false
	case rights&policy.Write != 0 && isDir && !hostfs.HasProtectedName(e.host.OS, at):
		does, but = "change and delete", ", except protected files such as .git/hooks"
	case rights&policy.Write != 0:
		does, isDir = "change", false
	case rights.Has(policy.Execute) && isDir:
		does, isDir = "run programs in", false
	case rights.Has(policy.Execute):
		does = "start"
	}
	switch {
	case at == "/":
		name = "every file of this machine"
	case hostfs.Within(e.host.OS, session.ResolveLinks(e.host.Home), at):
		name = "all your files"
	case isDir:
		name = "every file in " + name
	default:
		but = ""
	}
	if names := namesIn(at); r.Rights() != 0 && resolve.Sensitive(&e.host, e.now[e.tool].target.Policy, at) != "" && but+names != "" {
		but = strings.TrimSuffix(", also your keys there ("+names+")", " ()")
	}
	if err != nil && r.Rights() != 0 {
		but += ", once it exists"
	}
	say("%s %s%s", does, name, but)
}

// rest returns what differs between two policies beside what a server may reach.
func (e *Edit) rest(before, after *checked) []config.Change {
	was, is := *before.target.Policy, *after.target.Policy
	if was.Workspace != is.Workspace { // a name for that of a server without one
		const started = "where its client starts it"
		was.Workspace, is.Workspace = cmp.Or(was.Workspace, started), cmp.Or(is.Workspace, started)
	}
	return config.CompareRest(&was, &is)
}

// givenBack returns what --remove gives back to the server. Where its client starts it may not be known, so a denial counts
// whatever it holds.
func (e *Edit) givenBack(objects []change.Object, rest []config.Change) (all []string) {
	const text = "it gets back what a rule took away: "
	for _, o := range objects {
		if e.remove && o.Fs.Deny != 0 {
			all = append(all, text+o.Fs.Path)
		}
	}
	for _, ch := range rest {
		if e.remove && ch.Loosens && e.grants.Table.Settings.HasLimits() {
			all = append(all, text+ch.Text)
		}
	}
	return all
}

// judged decides about objects that the user typed, or has agreed to by name. It returns what he should know, and what he
// is to be asked for apart.
func (e *Edit) judged(objects []change.Object, named bool) (beware, apart []string) {
	d := e.decider()
	d.Was = e.was[e.tool].target
	for _, o := range objects {
		p := d.Decide(change.Want{Source: change.Typed, Object: o}, e.now[e.tool].target)
		isLift := func(r policy.Reason) bool { return r.Kind == policy.WhyLifts }
		if named && !slices.ContainsFunc(p.Reasons, isLift) { // what it lifts was not known then
			continue
		}
		text, names := p.Because(o.Name()), ""
		if o.Fs.Path != "" {
			names = namesIn(e.At(o.Fs.Path))
		}
		switch v := p.Verdict(); {
		case v <= change.Apart && names != "":
			apart = append(apart, text+" ("+names+")")
		case v <= change.Apart:
			apart = append(apart, text)
		case v == change.Ask:
			beware = append(beware, fullStop(show.Line(text)))
		}
	}
	return beware, apart
}

// namesIn returns the first names in a directory, in words.
func namesIn(dir string) string {
	const most = 5
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries[:min(most, len(entries))] {
		names = append(names, show.Name(e.Name()))
	}
	if more := len(entries) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// confirm asks about what is to be asked for apart, which --yes does not take, and about all of it.
func (e *Edit) confirm(c terminal.Console, how How, apart []string) error {
	for _, text := range apart {
		text = show.Name(e.word) + ": " + show.Line(text)
		if how.Yes || !c.Asks() {
			return fmt.Errorf("nothing was changed: %s. --yes does not answer that. Run it on a terminal, without --yes", text)
		}
		if err := cli.Confirm(context.Background(), c, text+". Do you want that?"); err != nil {
			return err
		}
	}
	if how.Yes || how.agreed || len(apart) > 0 && len(e.asked) == 1 && e.asked[0].Setting.Key != "preset" && how.asks == "" {
		return nil
	}
	question := "Allow it?"
	switch o := e.asked[0]; {
	case e.remove:
		question = "Take it back?"
	case o.Fs.Deny != 0 && len(e.asked) == 1:
		question = "Hide it from " + show.Name(e.word) + "?"
	}
	return cli.Confirm(context.Background(), c, cmp.Or(how.asks, question))
}

// commit writes the file of the server.
func (e *Edit) commit(c terminal.Console) error {
	whole := e.File
	err := config.ChangeServers(e.host.ConfigDir, func(files []*config.ServerFile, broken []error) ([]*config.ServerFile, error) {
		changed, err := e.rebuild()
		if err != nil {
			return nil, err
		}
		files = slices.DeleteFunc(files, func(f *config.ServerFile) bool { return f.Path == changed.Path })
		return append(files, changed), nil
	})
	if err == nil {
		e.File = whole
		done := "Allowed."
		if e.remove {
			done = "Taken back."
		}
		c.PrintText(c.Paint(terminal.Green, done) + " " + e.takesEffect() + "\n")
	}
	return err
}

// nextStart says what the user does so that the policy holds.
func (e *Edit) nextStart() string {
	who := show.Name(e.word)
	var in []string
	for i, client := range e.starters {
		if client.Reload != "" && !slices.ContainsFunc(e.starters[:i], func(o clients.Client) bool { return o.Name == client.Name }) {
			in = append(in, client.Title+": "+client.Reload)
		}
	}
	switch {
	case !e.was[""].target.Policy.Stateful:
		return "The next call of a tool has it."
	case len(in) == 0:
		return "The next session of " + who + " has it."
	case len(in) == 1:
		return "Restart " + who + " in " + in[0]
	}
	return "Restart " + who + ":\n  " + strings.Join(in, "\n  ")
}

// status says what was skipped, and returns the exit status for that.
func (e *Edit) status(c terminal.Console) error {
	for _, text := range e.left {
		c.Notef("%s %s", c.Paint(terminal.Yellow, "skipped:"), text)
	}
	if len(e.left) > 0 {
		return terminal.ReportedStatus(terminal.Failure)
	}
	return nil
}
