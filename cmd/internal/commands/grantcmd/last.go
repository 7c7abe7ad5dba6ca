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

// lastOf returns what the last failure of the server needed, without those that the user
// does not want or must name. It says what was blocked.
func (g *grantCmd) lastOf(c terminal.Console, e *Edit, how *How) (wanted []change.Object, err error) {
	r, err := e.lastFailure()
	if err != nil {
		return nil, err
	}
	if r, err = g.ofTool(e, r); err != nil {
		return nil, err
	}
	decide(r, e.Propose)
	last := r.Diagnoses[len(r.Diagnoses)-1]
	items := lackedIn(r)
	switch why := show.Line(last.Advised()); {
	case len(items) > 0:
	case last.Attribution == diagnostics.None && len(last.Hints) == 0:
		return nil, fmt.Errorf("nothing was changed: the jail blocked nothing in the last failure of %s", show.Name(e.word))
	case why == "":
		return nil, fmt.Errorf("nothing was changed: no flag allows what the last failure of %s needed%s", show.Name(e.word), last.Explain.Reference())
	default:
		return nil, fmt.Errorf("nothing was changed: no flag allows what the last failure of %s needed. What helps: %s", show.Name(e.word), why)
	}
	if err := e.use(g.tool); err != nil {
		return nil, err
	}
	has := func(l lacked) bool { return l.Verdict() == change.Has } // told only where the server has all of it
	if len(slices.DeleteFunc(slices.Clone(items), has)) > 0 {
		items = slices.DeleteFunc(items, has)
	}
	how.agreed = true // until something is not asked for by name
	for _, l := range items {
		l.when = " (" + cli.DayText(time.Now(), r.Time) + ")"
		yes, err := e.wants(c, l, how, len(items) == 1)
		if err != nil {
			return nil, err
		}
		if yes {
			wanted = append(wanted, l.Object)
		}
	}
	return wanted, nil
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
			if p.Verdict() != change.Has {
				return true, false
			}
			e.asked = append(e.asked, p.Object)
		}
	}
	return true, len(e.asked) > 0 && e.takenAway(e.File) == ""
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
	if e.was[""].target.Policy.Stateful {
		w.Tool = ""
	}
	if err := e.use(w.Tool); err != nil {
		return change.Proposal{Want: w} // the tool has no rules that could be read
	}
	now := e.now[w.Tool]
	d := e.decider()
	d.Load = func(f *config.ServerFile) (*session.Target, error) {
		after, err := e.check(f, w.Tool)
		if err != nil {
			return nil, err
		}
		return after.target, cmp.Or(after.files, after.start)
	}
	p := d.Try(w, e.File, cmp.Or(now.files, now.start))
	if p.Is(policy.WhyListing, policy.WhyNoRule) {
		return p
	}
	if _, _, by, err := e.apply(w.Object); by != "" && err == nil {
		return change.Nothing(w)
	}
	return p
}

// lastFailure returns the record of the last session of the server that has a failure.
func (e *Edit) lastFailure() (r diagnostics.Record, err error) {
	if r, err = records.Load(e.host, e.was[""].target.Policy.KeptName()); err != nil {
		return r, fmt.Errorf("%s: %w", show.Name(e.Name), err)
	}
	if r.Failed != nil {
		r = *r.Failed
	}
	if len(r.Diagnoses) == 0 {
		return r, fmt.Errorf("there is no failure of %s on record", show.Name(e.Name))
	}
	return r, nil
}

// notForAll is the error about a tool that its server calls "*": what is allowed to it would be for all others.
func (e *Edit) notForAll() error {
	return terminal.UsageErrorf("nothing was changed: a tool of %s is called *, and in a policy * means all tools without rules of their own. What they may all do, you can type:\n  %s --read PATH", show.Name(e.word), show.Typed("mcp-jail grant --tool '*'", e.word))
}

// ofTool returns a record with the failures of one process alone: each tool of a per-call server has
// its own.
func (g *grantCmd) ofTool(e *Edit, r diagnostics.Record) (diagnostics.Record, error) {
	if e.was[""].target.Policy.Stateful {
		return r, nil
	}
	var tools []string
	for _, d := range r.Diagnoses {
		if !slices.Contains(tools, d.Tool) {
			tools = append(tools, d.Tool)
		}
	}
	if g.tool == "" && len(tools) > 1 {
		text := "several tools of " + show.Name(e.word) + " failed, and each has its own rules. Which one do you mean?"
		for _, tool := range tools {
			text += "\n  " + commandOf(e.word, []string{"--last", "--tool", tool})
		}
		return r, terminal.UsageErrorf("%s", text)
	}
	if g.tool = cmp.Or(g.tool, tools[0]); g.tool == config.AnyTool {
		return r, e.notForAll()
	}
	r.Diagnoses = slices.DeleteFunc(slices.Clone(r.Diagnoses), func(d diagnostics.Diagnosis) bool { return d.Tool != g.tool })
	if len(r.Diagnoses) == 0 {
		return r, fmt.Errorf("there is no failure of the tool %s of %s on record", show.Name(g.tool), show.Name(e.word))
	}
	return r, nil
}

// lackedIn returns what the failures of a record lacked, each once.
func lackedIn(r diagnostics.Record) (items []lacked) {
	add := func(p change.Proposal, cause string) {
		if at := slices.IndexFunc(items, func(i lacked) bool { return i.Object.Same(p.Object) }); at < 0 {
			items = append(items, lacked{Proposal: p, cause: cause})
		} else if p.Verdict() > items[at].Verdict() {
			items[at] = lacked{Proposal: p, cause: cause}
		}
	}
	for _, d := range r.Diagnoses {
		for _, h := range d.Hints {
			if !h.Proposal.IsZero() {
				add(h.Proposal, h.Cause)
			}
		}
		if !d.Longer.IsZero() {
			add(d.Longer, d.What)
		}
	}
	return items
}

// wants reports whether what a failure lacked is to be granted: what the jail recorded, and what the user agrees to by
// name. Where it is the only one, the question comes with the change.
func (e *Edit) wants(c terminal.Console, l lacked, how *How, only bool) (bool, error) {
	words := l.Object.Words()
	switch name := e.Short(l.Object.Name()); {
	case l.Verdict() == change.Has:
		return true, nil // nothing is written
	case !l.IsOpen():
		text := name + ": " + fullStop(cmp.Or(l.Refused(), "its policy cannot be read"))
		if l.Verdict() == change.Never && l.Source == change.Recorded { // a mere word of the server leads to no command for a key
			text += " To allow it all the same, name it:\n  " + e.Command(l.Tool, e.Whole(l.Object).Words())
		}
		if l.Is(policy.WhyListing) {
			text += " One process for all that it does has rules:\n  " + e.Command("", []string{"--remove", "--per-call"})
		}
		e.left = append(e.left, text)
		return false, nil
	}
	why := fullStop(show.Line(l.cause) + l.when)
	if l.Source != change.Recorded {
		why = "mcp-jail did not see this refusal: it took " + e.Short(l.Object.Name()) + " from the server's error text.\nA dishonest server can write anything there."
	}
	harmful := ""
	if because := l.Because(e.Short(l.Object.Name())); because != "" {
		harmful = fullStop(show.Line(because))
	}
	question := Question(e.word, words)
	switch {
	case l.Verdict() == change.Fine:
		c.PrintText(why + "\n")
		how.agreed = false
	case how.Yes || !how.DryRun && !c.Asks():
		e.left = append(e.left, e.Short(l.Object.Name())+". "+strings.TrimSpace(strings.ReplaceAll(why, "\n", " ")+" "+harmful)+" To allow it:\n  "+e.Command(e.tool, words))
		return false, nil
	case how.DryRun || only:
		c.PrintText(why + "\n")
		how.agreed, how.asks = false, question
		if harmful != "" {
			how.why = append(how.why, harmful)
		}
	default:
		c.PrintText(strings.TrimSpace(why+"\n"+harmful) + "\n")
		yes, err := cli.AskYes(c, question, "nothing was changed")
		if err == nil && !yes {
			e.left = append(e.left, e.Short(l.Object.Name())+": the answer was not yes")
		}
		return yes, err
	}
	return true, nil
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

// Command returns the command line that grants something to a tool, or to the whole server, for a shell.
func (e *Edit) Command(tool string, words []string) string {
	if tool != "" {
		words = append(words, "--tool", tool)
	}
	return commandOf(e.word, words)
}
