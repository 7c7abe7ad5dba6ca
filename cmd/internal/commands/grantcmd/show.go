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
	choice        // of what a failure lacked
}

// Write shows the difference, asks, and writes the file.
func (e *Edit) Write(c terminal.Console, how How) error {
	if e.isTable() || e.isLine() {
		c.PrintText(show.Name(e.Name) + "  " + e.place + "\n")
	}
	if e.isLine() && e.dir != "" {
		c.PrintText("  for " + terminal.ShownLine(e.words) + "  started in " + e.Short(e.dir) + "\n")
	}
	for _, n := range e.notes {
		c.PrintText(n + "\n")
	}
	isTaken := false
	for _, p := range e.parts {
		if taken := e.takenAway(p.tool, p.asked); taken != "" {
			isTaken = true
			note(c, taken)
		}
	}
	if string(e.now.Encode()) == string(e.was.Encode()) {
		switch {
		case isTaken || len(how.left) > 0 || e.remove:
		case e.kept != nil && how.isTyped(c): // the server runs under an earlier policy
			c.PrintText("Nothing to change. ")
			return e.offer(c, false)
		default:
			c.PrintText("Nothing to change. " + e.nextStart() + "\n")
		}
		return nil
	}
	can := how.beware
	var apart []string
	e.now = e.now.with(e.File()) // as this machine is now
	for _, p := range e.parts {
		if len(p.added) == 0 {
			continue
		}
		then, more, err := e.show(c, p, how.Named)
		if err != nil {
			return err
		}
		can, apart = append(then, can...), append(more, apart...)
	}
	return e.finish(c, how, can, apart)
}

// finish says what comes of the change, asks, and writes the file. What apart says is asked for by itself.
func (e *Edit) finish(c terminal.Console, how How, can, apart []string) error {
	switch {
	case string(e.now.Encode()) == string(e.was.Encode()):
		c.PrintText("Nothing to change.\n")
		return nil
	case e.isTable():
		return e.writeOut(c, how, append(can, apart...))
	}
	can = append(can, "This is saved in "+e.Short(e.now.Path)+".")
	if e.setting == nil && e.runs && how.isTyped(c) {
		can = append(can, e.sayRunning(c))
	}
	c.Printf("\n%s\n\n", terminal.Hang("", "", strings.Join(can, " "), c.TextColumns()))
	if how.DryRun {
		c.Printf("Nothing was changed (--dry-run).\n")
		return nil
	}
	shown, err := e.decided()
	if err != nil {
		return err
	}
	if err := e.confirm(c, how, apart); err != nil {
		return err
	}
	return e.commit(c, how, shown)
}

// show shows what the grants to one tool change, rule by rule. It returns what the server can do then, and what is to be
// asked for apart.
func (e *Edit) show(c terminal.Console, p *part, named bool) (can, apart []string, err error) {
	before, after, err := e.both(p.tool)
	if err != nil {
		return nil, nil, err
	}
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
	c.PrintText("\n" + table80(e.rows(p.added, before, after, rest)))
	for _, w := range warnings {
		note(c, w)
	}
	if e.remove {
		back, err := e.givenBack(p, rest)
		return nil, back, err
	}
	proposals := e.proposals(before, after, p.added)
	beware, apart := e.judged(proposals, named)
	return append(change.Then(show.Name(e.word), proposals, e.Short), beware...), apart, nil
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
	within := e.decider(before).Within
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
	all = change.Table(rows, func(path string) string { // without links
		return (person{e.host.OS, session.ResolveLinks(e.host.Home), e.host.Dir}).short(path, "")
	})
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
func (b *base) rest(before, after *checked) []config.Change {
	was, is := *before.target.Policy, *after.target.Policy
	was.Stateful = is.Stateful         // --per-call says it
	if was.Workspace != is.Workspace { // a name for that of a server without one
		const started = "where its client starts it"
		was.Workspace, is.Workspace = cmp.Or(b.Short(was.Workspace), started), cmp.Or(b.Short(is.Workspace), started)
	}
	return config.Compare(&was, &is)
}

// givenBack returns what --remove gives back to the server. Where its client starts it may not be known, so a denial counts
// whatever it holds.
func (e *Edit) givenBack(p *part, rest []config.Change) (all []string, err error) {
	const text = "it gets back what a rule took away: "
	for _, o := range p.added {
		if o.Fs.Deny != 0 {
			all = append(all, text+o.Fs.Path)
		}
	}
	table, err := e.tableOf(p.tool, p.added)
	for _, ch := range rest {
		if err == nil && ch.Loosens && table.Settings.HasLimits() {
			all = append(all, text+ch.Text)
		}
	}
	return all, err
}

// proposals decides about objects that the user typed, or has agreed to by name.
func (b *base) proposals(before, after *checked, objects []change.Object) (all []change.Proposal) {
	for _, o := range change.Merge(objects) {
		all = append(all, b.decider(before).Decide(change.Want{Source: change.Typed, Object: o}, after.target))
	}
	return all
}

// judged returns what the user should know of proposals, and what he is to be asked for apart.
func (b *base) judged(proposals []change.Proposal, named bool) (beware, apart []string) {
	for _, p := range proposals {
		isLift := func(r policy.Reason) bool { return r.Kind == policy.WhyLifts }
		if named && !slices.ContainsFunc(p.Reasons, isLift) { // what it lifts was not known then
			continue
		}
		text, names := p.Because(p.Object.Name()), ""
		if p.Object.Fs.Path != "" {
			names = namesIn(b.At(p.Object.Fs.Path))
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
	asked := e.asked()
	if how.Yes || how.agreed || len(apart) > 0 && len(asked) == 1 && asked[0].Setting.Key != "preset" && how.question == "" {
		return nil
	}
	question := "Allow it?"
	switch {
	case e.setting != nil:
		question = "Do this?"
	case e.remove:
		question = "Take it back?"
	case asked[0].Fs.Deny != 0 && len(asked) == 1:
		question = "Hide it from " + show.Name(e.word) + "?"
	}
	return cli.Confirm(context.Background(), c, cmp.Or(how.question, question))
}

// commit writes the file of the server. shown is what was decided when the change was shown.
func (e *Edit) commit(c terminal.Console, how How, shown []string) error {
	err := config.ChangeServers(e.host.ConfigDir, func(files []*config.ServerFile, broken []error) ([]*config.ServerFile, error) {
		changed, err := e.rebuild(shown)
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
		words = append(words, typed(p.added)...)
	}
	done := "Allowed."
	switch {
	case e.setting != nil:
		done, words = "Done.", e.setting.words
	case e.remove:
		done = "Taken back."
	}
	session.LogGrant(c, e.host, e.policy(), how.By, e.remove, words)
	c.PrintText(e.takesEffect(c, how, c.Paint(terminal.Green, done)+" ") + "\n")
	return nil
}

// typed returns objects as a user types them.
func typed(objects []change.Object) (words []string) {
	for _, o := range objects {
		words = append(words, change.AsTyped(o.Words()))
	}
	return words
}

// nextStart says what the user does so that the policy holds.
func (b *base) nextStart() string {
	if !b.policy().Stateful {
		return "The next call of a tool has it."
	}
	return b.nextSession()
}

// nextSession says how a session of the server begins in which a change holds.
func (b *base) nextSession() string {
	who := show.Name(b.word)
	var in []string
	for i, client := range b.starters {
		if client.Reload != "" && !slices.ContainsFunc(b.starters[:i], func(o clients.Client) bool { return o.Name == client.Name }) {
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

// writeOut prints what the user is to write into the table of a server. can says what comes of it.
func (e *Edit) writeOut(c terminal.Console, how How, can []string) error {
	more, gone := e.now.Server.Since(e.was.Server)
	text := "mcp-jail does not change a table that you wrote. Write this into [servers." + show.Key(e.Key) + "], at " + e.Short(e.was.Server.Where)
	for i, place := range gone {
		text += map[bool]string{true: ", in place of what is at ", false: " and "}[i == 0] + e.Short(place)
	}
	c.Printf("\n%s\n\n", terminal.Hang("", "", strings.Join(append(can, text+":"), " "), c.TextColumns()))
	for line := range strings.SplitSeq(more.Rules(e.Key), "\n") {
		c.PrintText(strings.TrimRight("  "+line, " ") + "\n")
	}
	if how.DryRun {
		return nil
	}
	return terminal.ReportedStatus(terminal.Failure)
}
