package grantcmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// lacked is what a failure lacked.
type lacked struct {
	change.Proposal
	cause string
	when  string // in brackets
}

// choice is what the user has chosen of what a failure lacked.
type choice struct {
	taken    []change.Object
	left     []string // what is not granted, and why
	agreed   bool     // to all that is taken, by name
	question string   // about what is taken; "" is the usual one
	beware   []string // what the user is to know of it
}

// status says what is left, and returns the exit status for that.
func (ch choice) status(c terminal.Console) error {
	for _, text := range ch.left {
		c.Notef("%s %s", c.Paint(terminal.Yellow, "skipped:"), text)
	}
	if len(ch.left) > 0 {
		return terminal.ReportedStatus(terminal.Failure)
	}
	return nil
}

// lastOf returns what the user takes of what the last failure of the server needed. It says what was blocked.
func (g *grantCmd) lastOf(c terminal.Console, e *Edit, how How) (choice, error) {
	r, err := e.lastFailure()
	if err != nil {
		return choice{}, err
	}
	if r, err = g.ofTool(e.base, r); err != nil {
		return choice{}, err
	}
	decide(r, e.Propose)
	last := r.Diagnoses[len(r.Diagnoses)-1]
	items := lackedIn(r)
	switch why := show.Line(last.Advised()); {
	case len(items) > 0:
	case last.Attribution == diagnostics.None && len(last.Hints) == 0:
		return choice{}, fmt.Errorf("nothing was changed: the jail blocked nothing in the last failure of %s", show.Name(e.word))
	case why == "":
		return choice{}, fmt.Errorf("nothing was changed: no flag allows what the last failure of %s needed%s", show.Name(e.word), last.Explain.Reference())
	default:
		return choice{}, fmt.Errorf("nothing was changed: no flag allows what the last failure of %s needed. What helps: %s", show.Name(e.word), why)
	}
	has := func(l lacked) bool { return l.Verdict() == change.Has } // told only where the server has all of it
	if len(slices.DeleteFunc(slices.Clone(items), has)) > 0 {
		items = slices.DeleteFunc(items, has)
	}
	for i := range items {
		items[i].when = " (" + cli.DayText(time.Now(), r.Time) + ")"
	}
	if e.isTable() { // it only prints, and asks nothing
		how.Yes, how.DryRun = false, true
	}
	return e.choose(c, g.tool, items, how)
}

// Decide decides anew about what a record lacked, by what is true now. It reports whether mcp-jail grant can change the
// policy of the server that a word means, and whether the server has all of that by now.
func Decide(x *index.Index, word string, r diagnostics.Record) (can, allowed bool) {
	e, err := Begin(x, word)
	propose := withoutFile(x)
	if err == nil {
		propose = e.Propose
	}
	if decide(r, propose); r.Failed != nil {
		decide(*r.Failed, propose)
		r = *r.Failed
	}
	if err != nil {
		return false, false
	}
	for _, d := range r.Diagnoses {
		for _, p := range d.Proposals() {
			if p.Verdict() != change.Has || e.takenAway(p.Tool, []change.Object{p.Object}) != "" {
				return true, false
			}
			allowed = true
		}
	}
	return true, allowed
}

// withoutFile returns what decides about a server whose policy is in a file that the user changes by hand. What the server
// has is not known.
func withoutFile(x *index.Index) func(change.Want) change.Proposal {
	d := &session.Decider{Was: &session.Target{Host: x.Host, Policy: &policy.Policy{}}, At: person{x.Host.OS, x.Host.Home, x.Host.Dir}.absolute}
	d.Others = func() []policy.Started { return x.Others("") }
	return func(w change.Want) change.Proposal { return d.Decide(w, nil) }
}

// decide decides anew about what the failures of a record lacked.
func decide(r diagnostics.Record, propose func(change.Want) change.Proposal) {
	for i := range r.Diagnoses {
		r.Diagnoses[i].Decide(propose)
	}
}

// Propose decides about a change that the user has not typed.
func (e *Edit) Propose(w change.Want) change.Proposal {
	if e.policy().Stateful {
		w.Tool = ""
	}
	now, err := e.now.of(w.Tool)
	if err != nil {
		return change.Proposal{Want: w} // the tool has no rules that could be read
	}
	d := e.decider(now)
	d.Load = func(f *config.ServerFile) (*session.Target, error) {
		after, err := e.check(f, w.Tool)
		if err != nil {
			return nil, err
		}
		return after.target, cmp.Or(after.files, after.start)
	}
	p := d.Try(w, e.File(), cmp.Or(now.files, now.start))
	if p.Is(policy.WhyListing, policy.WhyNoRule) {
		return p
	}
	if _, _, by, err := e.apply(now, w.Object); by != "" && err == nil {
		return change.Nothing(w)
	}
	return p
}

// lastFailure returns the record of the last session of the server that has a failure.
func (b *base) lastFailure() (r diagnostics.Record, err error) {
	if r, err = records.Load(b.host, b.policy().KeptName()); err != nil {
		return r, fmt.Errorf("%s: %w", show.Name(b.Name), err)
	}
	if r.Failed != nil {
		r = *r.Failed
	}
	if len(r.Diagnoses) == 0 {
		return r, fmt.Errorf("there is no failure of %s on record", show.Name(b.Name))
	}
	return r, nil
}

// ofTool returns a record with the failures of one process alone: each tool of a per-call server has
// its own.
func (g *grantCmd) ofTool(b *base, r diagnostics.Record) (diagnostics.Record, error) {
	if b.policy().Stateful {
		return r, nil
	}
	var tools []string
	for _, d := range r.Diagnoses {
		if !slices.Contains(tools, d.Tool) {
			tools = append(tools, d.Tool)
		}
	}
	if g.tool == "" && len(tools) > 1 {
		text := "several tools of " + show.Name(b.word) + " failed, and each has its own rules. Which one do you mean?"
		for _, tool := range tools {
			text += "\n  " + b.Command(tool, []string{"--last"})
		}
		return r, terminal.UsageErrorf("%s", text)
	}
	if g.tool = cmp.Or(g.tool, tools[0]); g.tool == config.AnyTool {
		return r, terminal.UsageErrorf("nothing was changed: a tool of %s is called *, and in a policy * means all tools without rules of their own. What they may all do, you can type:\n  %s --read PATH", show.Name(b.word), show.Typed("mcp-jail grant --tool '*'", b.word))
	}
	r.Diagnoses = slices.DeleteFunc(slices.Clone(r.Diagnoses), func(d diagnostics.Diagnosis) bool { return d.Tool != g.tool })
	if len(r.Diagnoses) == 0 {
		return r, fmt.Errorf("there is no failure of the tool %s of %s on record", show.Name(g.tool), show.Name(b.word))
	}
	return r, nil
}

// lackedIn returns what the failures of a record lacked, each once.
func lackedIn(r diagnostics.Record) (items []lacked) {
	for _, d := range r.Diagnoses {
		for _, h := range append(slices.Clone(d.Hints), diagnostics.Hint{Proposal: d.Longer, Cause: d.What}) {
			at := slices.IndexFunc(items, func(i lacked) bool { return i.Object.Same(h.Proposal.Object) })
			switch l := (lacked{Proposal: h.Proposal, cause: h.Cause}); {
			case l.IsZero():
			case at < 0:
				items = append(items, l)
			case l.Verdict() > items[at].Verdict():
				items[at] = l
			}
		}
	}
	return items
}

// choose asks about what failures lacked: the jail recorded it, or the user agrees to it by name. Where it is the only thing,
// the question comes with the change.
func (b *base) choose(c terminal.Console, tool string, items []lacked, how How) (ch choice, err error) {
	ch.agreed = true // until something is not asked for by name
	for _, l := range items {
		d := b.judge(l)
		name, words := b.Short(l.Object.Name()), l.Object.Words()
		yes := true
		switch {
		case l.Verdict() == change.Has: // nothing is written
		case d.refused != "":
			ch.left, yes = append(ch.left, name+": "+d.refused), false
		case l.Verdict() == change.Fine:
			c.PrintText(d.why + "\n")
			ch.agreed = false
		case how.Yes || !how.DryRun && !c.Asks():
			text := strings.TrimSpace(strings.ReplaceAll(d.why, "\n", " ") + " " + d.harm)
			ch.left, yes = append(ch.left, name+". "+text+" To allow it:\n  "+b.Command(tool, words)), false
		case how.DryRun || len(items) == 1:
			c.PrintText(d.why + "\n")
			ch.agreed, ch.question = false, Question(b.word, words)
			if d.harm != "" {
				ch.beware = append(ch.beware, d.harm)
			}
		default:
			c.PrintText(strings.TrimSpace(d.why+"\n"+d.harm) + "\n")
			if yes, err = cli.AskYes(c, Question(b.word, words), "nothing was changed"); err != nil {
				return ch, err
			}
			if !yes {
				ch.left = append(ch.left, name+": the answer was not yes")
			}
		}
		if yes {
			ch.taken = append(ch.taken, l.Object)
		}
	}
	return ch, nil
}

// decision says what is decided about what a failure lacked, in words.
type decision struct {
	refused string // why no answer of the user allows it; "" if one does
	why     string // how mcp-jail knows that it was lacked
	harm    string // what it may do
}

func (b *base) judge(l lacked) (d decision) {
	name := b.Short(l.Object.Name())
	if !l.IsOpen() {
		d.refused = fullStop(cmp.Or(l.Refused(), "its policy cannot be read"))
		if l.Verdict() == change.Never && l.Source == change.Recorded { // a mere word of the server leads to no command for a key
			d.refused += " To allow it all the same, name it:\n  " + b.Command(l.Tool, b.Whole(l.Object).Words())
		}
		if l.Is(policy.WhyListing) {
			d.refused += " One process for all that it does has rules:\n  " + b.Command("", []string{"--remove", "--per-call"})
		}
		return d
	}
	d.why = fullStop(show.Line(l.cause) + l.when)
	if l.Source != change.Recorded {
		d.why = "mcp-jail did not see this refusal: it took " + name + " from the server's error text.\nA dishonest server can write anything there."
	}
	if because := l.Because(name); because != "" {
		d.harm = fullStop(show.Line(because))
	}
	return d
}

// Verbs say what a flag lets a server do with its value.
var Verbs = map[string]string{"--read": "read", "--write": "change", "--execute": "start", "--net": "reach", "--env": "use"}

// Question asks whether a server may have what a flag of grant gives.
func Question(server string, words []string) string {
	does := Verbs[words[0]]
	if does == "" {
		return "Allow " + show.Name(server) + " " + show.Typed(words[0], words[1]) + "?"
	}
	return "Let " + show.Name(server) + " " + does + " " + show.Name(words[1]) + "?"
}

// fullStop writes a text as a sentence.
func fullStop(text string) string {
	if first, _, _ := strings.Cut(text, " "); !strings.ContainsAny(first, `./\-_:"~`) { // no name of a file or a setting
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return strings.TrimSuffix(text, ".") + "."
}
