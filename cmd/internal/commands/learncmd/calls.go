package learncmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// noMethod is the code of JSON-RPC for a method that a server does not have.
const noMethod = -32601

// maxNoted is how many answers, or names of tools, a note has. A server can have any number of them.
const maxNoted = 12

// noteCalls names what the policy does not tell of: calls that failed while the server was watched, answers that are
// other ones each time, and tools that were not called, by the reason.
func (l *lesson) noteCalls(note func(format string, args ...any)) {
	if l.expected.First != nil {
		failed := slices.DeleteFunc(slices.Clone(l.expected.First.Answers), func(a drive.Answer) bool {
			return !a.Failed() || a.Error != nil && a.Error.Code == noMethod
		})
		for _, a := range failed[:min(len(failed), maxNoted)] {
			note("%s failed while the server was watched, so what it needs beyond that was not learned: %s", a.Request, a.Brief())
		}
		if more := len(failed) - maxNoted; more > 0 {
			note("so did %s", cli.Plural(more, "other call"))
		}
		if slices.ContainsFunc(failed, func(a drive.Answer) bool { return tellsOfForeignGroup(a.Brief()) }) {
			note("EOVERFLOW is of the lesson, and not of the server: in a copy, a file or a directory of another group than your main one cannot be written to")
		}
	}
	if names := l.unsteady(); len(names) > 0 {
		note("not compared, because it is another one in each session: the answer of %s, or a part of it. So whether the policy suffices is not known there", listed(names))
	}
	defer (perCall{l}).noteDrive(note)
	left := slices.Clone(l.skipped)
	for len(left) > 0 {
		why, names := left[0].Why, []string{}
		left = slices.DeleteFunc(left, func(s drive.Skipped) bool {
			if s.Why == why {
				names = append(names, show.Name(s.Tool))
			}
			return s.Why == why
		})
		if len(names) == 1 {
			note("%s was not called: %s", names[0], why)
		} else {
			note("%d tools were not called. The reason of each: %s. They are %s", len(names), why, listed(names))
		}
	}
}

// tellsOfForeignGroup reports whether a failure is that of writing, in a copy, where a group has no number in the jail.
func tellsOfForeignGroup(failure string) bool {
	failure = strings.ToLower(failure)
	return strings.Contains(failure, "eoverflow") || strings.Contains(failure, "value too large for defined data type")
}

// noteDrive says how tools are called that a probe does not call.
func (l perCall) noteDrive(note func(format string, args ...any)) {
	if at := slices.IndexFunc(l.skipped, func(s drive.Skipped) bool { return s.Example != "" }); at >= 0 {
		note("to learn what they need, write a call of each into a file, one a line, and give it by  --drive FILE. This is such a line:\n  %s", show.Line(l.skipped[at].Example))
	}
}

// callsNothing reports whether the server has tools, and none was called.
func (l perCall) callsNothing() bool {
	return l.sessions == 0 && l.expected.First != nil && len(l.skipped) > 0 && len(l.called()) == 0
}

// unsteady returns the names of the requests whose answers were not compared in full.
func (l *lesson) unsteady() (names []string) {
	if l.expected.First == nil {
		return nil
	}
	for _, r := range l.expected.Unsteady() {
		names = append(names, r.String())
	}
	return names
}

// listed writes the first of some names.
func listed(names []string) string {
	if more := len(names) - maxNoted; more > 0 {
		names = append(slices.Clone(names[:maxNoted]), fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
