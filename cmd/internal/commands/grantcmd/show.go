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
)

// How says how a change is written.
type How struct {
	Yes    bool   // without a question
	DryRun bool   // not at all
	By     string // the command, for the log
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
		then, more, err := e.show(c, p, whole, how.Named)
		if err != nil {
			return err
		}
		can, apart = append(then, can...), append(more, apart...)
	}
	e.File = whole
	return e.finish(c, how, can, apart)
}

// finish says what comes of the change, asks, and writes the file. What apart says is asked for by itself.
func (e *Edit) finish(c terminal.Console, how How, can, apart []string) (err error) {
	switch {
	case string(e.File.Encode()) == string(e.before.Encode()):
		c.PrintText("Nothing to change.\n")
		return nil
	case e.isTable():
		return e.writeOut(c, how, append(can, apart...))
	}
	can = append(can, "This is saved in "+e.Short(e.File.Path)+".")
	if e.setting == nil {
		can = append(can, e.sayRunning(c, how)...)
	}
	c.Printf("\n%s\n\n", terminal.Hang("", "", strings.Join(can, " "), c.TextColumns()))
	if how.DryRun {
		c.Printf("Nothing was changed (--dry-run).\n")
		return nil
	}
	if e.shown, err = e.decided(); err != nil {
		return err
	}
	if err := e.confirm(c, how, apart); err != nil {
		return err
	}
	return e.commit(c, how.By)
}

// show shows what the grants to one tool change, rule by rule. It returns what the server can do then, and what is to be
// asked for apart.
func (e *Edit) show(c terminal.Console, p part, whole *config.ServerFile, named bool) (can, apart []string, err error) {
	e.File, e.now = whole, map[string]*checked{}
	if err := e.use(p.tool); err != nil {
		return nil, nil, err
	}
	before, after := e.was[p.tool], e.now[p.tool]
	warnings, err := after.since(before)
	if err != nil {
		return nil, nil, err
	}
	switch p.tool {
	case "":
	case config.AnyTool:
		c.PrintText("\n  for all tools without rules of their own:\n")
	default:
		c.PrintText(fmt.Sprintf("\n  for the tool %s:\n", show.InSentence(p.tool)))
	}
	rest := e.rest(before, after)
	c.PrintText("\n" + table80(e.rows(p.objects, before, after, rest)))
	for _, w := range warnings {
		note(c, w)
	}
	if e.remove {
		return nil, e.givenBack(p.objects, rest), nil
	}
	proposals := e.proposals(p.objects)
	var texts []change.Text
	for _, p := range proposals {
		texts = append(texts, p.Text(e.Short))
	}
	beware, apart := e.judged(proposals, named)
	return append(change.Then(show.Name(e.word), texts), beware...), apart, nil
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
	within := e.decider().Within
	has := func(o change.Object) bool {
		return slices.ContainsFunc(rows, func(r change.Row) bool { return o.Has(r, within) })
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

// rest returns what differs between two policies beside what a server may reach.
func (e *Edit) rest(before, after *checked) []config.Change {
	was, is := *before.target.Policy, *after.target.Policy
	was.Stateful = is.Stateful         // --per-call says it
	if was.Workspace != is.Workspace { // a name for that of a server without one
		const started = "where its client starts it"
		was.Workspace, is.Workspace = cmp.Or(e.Short(was.Workspace), started), cmp.Or(e.Short(is.Workspace), started)
	}
	return config.Compare(&was, &is)
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

// proposals decides about objects that the user typed, or has agreed to by name.
func (e *Edit) proposals(objects []change.Object) (all []change.Proposal) {
	d := e.decider()
	d.Was = e.was[e.tool].target
	for _, o := range change.Merge(objects) {
		all = append(all, d.Decide(change.Want{Source: change.Typed, Object: o}, e.now[e.tool].target))
	}
	return all
}

// judged returns what the user should know of proposals, and what he is to be asked for apart.
func (e *Edit) judged(proposals []change.Proposal, named bool) (beware, apart []string) {
	for _, p := range proposals {
		isLift := func(r policy.Reason) bool { return r.Kind == policy.WhyLifts }
		if named && !slices.ContainsFunc(p.Reasons, isLift) { // what it lifts was not known then
			continue
		}
		text, names := p.Because(p.Object.Name()), ""
		if p.Object.Fs.Path != "" {
			names = namesIn(e.At(p.Object.Fs.Path))
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
	switch {
	case e.setting != nil:
		question = "Do this?"
	case e.remove:
		question = "Take it back?"
	case e.asked[0].Fs.Deny != 0 && len(e.asked) == 1:
		question = "Hide it from " + show.Name(e.word) + "?"
	}
	return cli.Confirm(context.Background(), c, cmp.Or(how.asks, question))
}

// commit writes the file of the server.
func (e *Edit) commit(c terminal.Console, by string) error {
	err := config.ChangeServers(e.host.ConfigDir, func(files []*config.ServerFile, broken []error) ([]*config.ServerFile, error) {
		changed, err := e.rebuild()
		if err != nil {
			return nil, err
		}
		files = slices.DeleteFunc(files, func(f *config.ServerFile) bool { return f.Path == changed.Path })
		return append(files, changed), nil
	})
	if err != nil {
		return err
	}
	var words []string
	for _, p := range e.parts {
		for _, o := range p.objects {
			words = append(words, change.AsTyped(o.Words()))
		}
	}
	done := "Allowed."
	switch {
	case e.setting != nil:
		done, words = "Done.", e.setting.words
	case e.remove:
		done = "Taken back."
	}
	session.LogGrant(c, e.host, e.was[""].target.Policy, by, e.remove, words)
	c.PrintText(e.takesEffect(c, c.Paint(terminal.Green, done)+" ") + "\n")
	return nil
}

// nextStart says what the user does so that the policy holds.
func (e *Edit) nextStart() string {
	if !e.was[""].target.Policy.Stateful {
		return "The next call of a tool has it."
	}
	return e.nextSession()
}

// nextSession says how a session of the server begins in which a change holds.
func (e *Edit) nextSession() string {
	who := show.Name(e.word)
	var in []string
	for i, client := range e.starters {
		if client.Reload != "" && !slices.ContainsFunc(e.starters[:i], func(o clients.Client) bool { return o.Name == client.Name }) {
			in = append(in, client.Title+": "+client.Reload)
		}
	}
	switch {
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
