package learncmd

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// document is what --format json writes.
type document struct {
	Server      string       `json:"server"`
	About       string       `json:"about,omitempty"`
	Verdict     string       `json:"verdict"`
	TOML        string       `json:"toml"`
	Stateful    bool         `json:"stateful"`
	Why         string       `json:"why,omitempty"` // each call can, or cannot, have a process of its own
	Verified    bool         `json:"verified"`
	Smallest    bool         `json:"smallest"`
	Differences []difference `json:"differences"`
	NotCalled   []notCalled  `json:"not_called"`
	NotCompared []string     `json:"not_compared,omitempty"` // answers of which a part is another one each time
	Rounds      int          `json:"rounds"`
	Cut         string       `json:"cut,omitempty"`
	Failure     string       `json:"failure,omitempty"`
	LeftOut     int          `json:"left_out,omitempty"` // observations beyond what is kept
	Status      int          `json:"status"`
}

type difference struct {
	Request string `json:"request"`
	Was     string `json:"was"`
	Is      string `json:"is"`
}

type notCalled struct {
	Tool string `json:"tool"`
	Why  string `json:"why"`
}

// report writes what was learned. failed is why the lesson ended before its end, or nil.
func (l *lesson) report(failed error) error {
	status := exit.OK
	if !l.verified || len(l.differences) > 0 {
		status = exit.Failure
	}
	if l.format == "json" {
		d := document{
			Server: l.t.Stored, About: strings.TrimSpace(l.about), Verdict: l.result.Verdict(), TOML: string(l.result.TOML()), Stateful: l.result.Stateful, Why: l.result.Why, Verified: l.verified && len(l.differences) == 0,
			Smallest: l.smallest, Differences: []difference{}, NotCalled: []notCalled{}, NotCompared: l.unsteady(), Rounds: l.rounds, Cut: l.cut, LeftOut: l.left, Status: status,
		}
		for _, x := range l.differences {
			d.Differences = append(d.Differences, difference{x.Request.String(), x.Was, x.Is})
		}
		for _, s := range l.skipped {
			d.NotCalled = append(d.NotCalled, notCalled{s.Tool, s.Why})
		}
		if failed != nil && l.cut == "" {
			d.Failure = failed.Error()
		}
		cli.PrintJSON(l.c, d)
		return exit.ReportedStatus(status)
	}
	if !l.applies && l.preset == "" {
		if status != exit.OK {
			l.c.Printf("# Not verified: the server is not known to give the same answers under this policy.\n")
		}
		l.c.Printf("%s", l.result.TOML())
	}
	l.c.Notef("")
	soFar := ""
	if !l.verified {
		soFar = "so far as it was watched, "
	}
	l.c.Notef("%s%s %s", soFar, l.name(), l.result.Verdict())
	l.notes(failed)
	if status == exit.OK {
		return nil
	}
	return exit.ReportedStatus(status)
}

func (l *lesson) notes(failed error) {
	note := func(format string, args ...any) {
		l.c.Notef("%s %s", l.c.Paint(terminal.Yellow, "note:"), fmt.Sprintf(format, args...))
	}
	switch {
	case !l.verified && l.cut != "":
		note("the policy was not verified: %s", l.cut)
	case !l.verified && failed != nil:
		said, more, _ := strings.Cut(failed.Error(), "\n")
		note("the policy was not verified: %s", show.Line(said))
		if more != "" {
			l.c.Notef("%s", more)
		}
	case len(l.differences) > 0:
		note("under this policy %s not the same:", are(len(l.differences), "answer"))
		for _, d := range l.differences[:min(len(l.differences), maxNoted)] {
			l.c.Notef("  %s: %s\n    now: %s", d.Request, d.Was, d.Is)
		}
		if more := len(l.differences) - maxNoted; more > 0 {
			l.c.Notef("  and %d more", more)
		}
	case (perCall{l}).callsNothing():
		note("no tool was called. Under this policy the server starts and lists its tools: what they need is not in it")
	case l.smallest && l.dropped > 0:
		l.c.Notef("verified: under this policy the server gives the same answers to %s; %s left out, because the answers are the same without", cli.Plural(len(l.expected.First.Answers)-len(l.unsteady()), "request"), are(l.dropped, "rule"))
	default:
		l.c.Notef("verified: under this policy the server gives the same answers to %s", cli.Plural(len(l.expected.First.Answers)-len(l.unsteady()), "request"))
		if l.cut != "" {
			note("whether each rule is needed was not tried to the end: %s", l.cut)
		}
	}
	perCall{l}.noteProcesses(note)
	l.noteCalls(note)
	if l.left > 0 {
		note("%s beyond what is kept were left out", cli.Plural(l.left, "observation"))
	}
}

func are(n int, thing string) string {
	if n == 1 {
		return "1 " + thing + " is"
	}
	return fmt.Sprintf("%d %ss are", n, thing)
}
