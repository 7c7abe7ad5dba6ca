package grantcmd

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// lacked is what a failure lacked.
type lacked struct {
	change.Object
	by      diagnostics.Attribution // Certain: the jail recorded it
	cause   string
	when    string // in brackets
	warning string
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
	items, none := lackedIn(r)
	for _, d := range r.Diagnoses {
		for _, h := range d.Hints {
			why, withheld := strings.CutPrefix(h.Fix, "mcp-jail does not suggest allowing it: ")
			if withheld && filepath.IsAbs(h.Target) && Verbs["--"+h.Missing] != "" {
				text := e.Short(h.Target) + ". " + fullStop(show.Line(why))
				if h.Attribution == diagnostics.Certain { // a mere word of the server leads to no command for a key
					text += " To allow it all the same, name it:\n  " + e.Command(g.tool, []string{"--" + h.Missing, e.Whole(change.Path(h.Target, 0)).Fs.Path})
				}
				e.left = append(e.left, text)
			}
		}
	}
	switch last := r.Diagnoses[len(r.Diagnoses)-1]; {
	case len(items) > 0, len(none) > 0, len(e.left) > 0:
	case last.Attribution == diagnostics.None && len(last.Hints) == 0:
		return nil, fmt.Errorf("nothing was changed: the jail blocked nothing in the last failure of %s", show.Name(e.word))
	default:
		return nil, fmt.Errorf("nothing was changed: no flag allows what the last failure of %s needed. To see what does:\n  %s", show.Name(e.word), show.Typed("mcp-jail why", e.Name))
	}
	for _, what := range none {
		e.left = append(e.left, what+". No flag allows it. To see what does:\n  "+show.Typed("mcp-jail why", e.Name))
	}
	if err := e.use(g.tool); err != nil {
		return nil, err
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

// AllowsLast reports whether the server that a word means has by now what its last failure needed.
func AllowsLast(x *index.Index, word string) bool {
	e, err := Begin(x, word)
	if err != nil {
		return false
	}
	r, err := e.lastFailure()
	return err == nil && e.takenAway(e.File) == "" && !slices.ContainsFunc(r.Diagnoses, func(d diagnostics.Diagnosis) bool {
		if e.was[""].target.Policy.Stateful {
			d.Tool = ""
		}
		return slices.ContainsFunc(wordsOf(d.Words), func(o change.Object) bool {
			by, err := e.add(d.Tool, o)
			return by == "" || err != nil
		})
	})
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
		return r, fmt.Errorf("there is no failure of the tool %s of %s on record. To see what failed:\n  %s", show.Name(g.tool), show.Name(e.word), show.Typed("mcp-jail why", e.Name))
	}
	return r, nil
}

// wordsOf returns what words of a record name. Of other words, which mcp-jail does not write, it returns nothing.
func wordsOf(words []string) []change.Object {
	objects, _ := change.Read(words)
	return objects
}

// lackedIn returns what the failures of a record lacked, each once, and the names of what no flag
// grants.
func lackedIn(r diagnostics.Record) (items []lacked, none []string) {
	for _, d := range r.Diagnoses {
		for _, o := range wordsOf(d.Words) {
			l := hintOf(d, o)
			if at := slices.IndexFunc(items, func(i lacked) bool { return i.Same(o) }); at < 0 {
				items = append(items, l)
			} else if l.by == diagnostics.Certain && l.warning == "" {
				items[at] = l
			}
		}
		for _, h := range d.Hints {
			if len(h.Words) == 0 && h.Axis == policy.AxisProcess && !slices.Contains(none, show.Quote(h.Target)) {
				none = append(none, show.Quote(h.Target))
			}
		}
	}
	return items, none
}

// hintOf returns what a failure says about an object. One that no hint has alone is not certain.
func hintOf(d diagnostics.Diagnosis, o change.Object) lacked {
	for _, h := range d.Hints {
		if slices.ContainsFunc(wordsOf(h.Words), o.Same) {
			return lacked{Object: o, by: h.Attribution, cause: h.Cause, warning: h.Warning}
		}
	}
	if o.Setting.Key == "startup_timeout_secs" { // it grants the server nothing
		return lacked{Object: o, by: diagnostics.Certain, cause: d.What}
	}
	return lacked{Object: o, by: diagnostics.Possible, cause: d.Cause}
}

// wants reports whether an object of a record is to be granted: what the jail recorded, and what the user agrees to by
// name. Where it is the only one, the question comes with the change.
func (e *Edit) wants(c terminal.Console, l lacked, how *How, only bool) (bool, error) {
	if by, err := e.granted(l.Object); by != "" || err != nil {
		return err == nil, err // it is there: nothing is written
	}
	seen, from := l.by == diagnostics.Certain, change.Said
	if seen {
		from = change.Recorded
	}
	p := e.decider().Decide(change.Want{Source: from, Object: l.Object}, nil)
	if p.Verdict() < change.Apart {
		e.left = append(e.left, change.AsTyped(l.Words())+": "+p.Because("it"))
		return false, nil
	}
	why := fullStop(show.Line(l.cause) + l.when)
	if !seen {
		why = "mcp-jail did not see this refusal: it took " + e.Short(l.Name()) + " from the server's error text.\nA dishonest server can write anything there."
	}
	harmful := ""
	if ask := cmp.Or(p.Because(e.Short(l.Name())), l.warning); ask != "" {
		harmful = fullStop(show.Line(ask))
	}
	question := Question(e.word, l.Words())
	switch {
	case p.Verdict() == change.Fine && harmful == "":
		c.PrintText(why + "\n")
		how.agreed = false
	case how.Yes || !how.DryRun && !c.Asks():
		e.left = append(e.left, e.Short(l.Name())+". "+strings.TrimSpace(strings.ReplaceAll(why, "\n", " ")+" "+harmful)+" To allow it:\n  "+e.Command(e.tool, l.Words()))
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
			e.left = append(e.left, e.Short(l.Name())+": the answer was not yes")
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
