//go:build linux

package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A tally counts comparisons without a difference.
type tally struct {
	sessions, lines, bytes, answers, verdicts, additions, departures int
}

func (n *tally) add(more tally) {
	n.sessions += more.sessions
	n.lines += more.lines
	n.bytes += more.bytes
	n.answers += more.answers
	n.verdicts += more.verdicts
	n.additions += more.additions
	n.departures += more.departures
}

// ledger collects tallies by the kind of comparison and by its subject.
type ledger struct {
	mu   sync.Mutex
	rows map[[2]string]tally
}

var results = ledger{rows: map[[2]string]tally{}}

// add counts a comparison if the test has not failed.
func (l *ledger) add(t *testing.T, kind, what string, n tally) {
	t.Helper()
	if t.Failed() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	row := l.rows[[2]string{kind, what}]
	row.add(n)
	l.rows[[2]string{kind, what}] = row
}

// of returns the rows of one kind, by name, and their sum.
func (l *ledger) of(kind string) (names []string, rows map[string]tally, sum tally) {
	rows = map[string]tally{}
	for key, n := range l.rows {
		if key[0] == kind {
			rows[key[1]] = n
			sum.add(n)
		}
	}
	return slices.SortedFunc(maps.Keys(rows), cmp.Compare[string]), rows, sum
}

func (l *ledger) table() string {
	var b strings.Builder
	b.WriteString("# What was compared\n\n" +
		"Written by `go test -update` in this directory. Each comparison was made with the bare server on one side and the same server behind `mcp-jail run`\n" +
		"on the other. **Differences: 0.** (A difference fails the test, and then this file is not written.)\n\n" +
		"*Additions* are results with `isError` that carry what the reference promises under “Answers to tool calls”: they were equal once exactly that was taken out.\n")
	section := func(kind, head, columns string, row func(tally) string) {
		names, rows, sum := l.of(kind)
		fmt.Fprintf(&b, "\n## %s\n\n%s\n%s\n", head, columns, strings.Repeat("|---", strings.Count(columns, "|")-1)+"|")
		for _, name := range names {
			fmt.Fprintf(&b, "| %s %s\n", name, row(rows[name]))
		}
		fmt.Fprintf(&b, "| **all** %s\n", row(sum))
	}
	section("transcripts", "Transcripts: stdout and exit status, byte for byte",
		"| server | transcripts | lines of the server | bytes | additions |",
		func(n tally) string {
			return fmt.Sprintf("| %d | %d | %d | %d |", n.sessions, n.lines, n.bytes, n.additions)
		})
	section("clients", "Client libraries: what they report, deeply equal",
		"| client → server | sessions | answers | additions |",
		func(n tally) string { return fmt.Sprintf("| %d | %d | %d |", n.sessions, n.answers, n.additions) })
	section("stateless", "Client libraries, with a process for every call: what they report, deeply equal but for the departures",
		"| client → server | sessions | answers | additions | departures |",
		func(n tally) string {
			return fmt.Sprintf("| %d | %d | %d | %d |", n.sessions, n.answers, n.additions, n.departures)
		})
	b.WriteString("\nThe departures, each of which was seen:\n\n| server | where | why |\n|---|---|---|\n")
	for _, d := range departures {
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", cmp.Or(d.server, "any"), d.at[1:], d.why)
	}
	section("inspector", "The Inspector's command line: output, byte for byte",
		"| server | commands | bytes |",
		func(n tally) string { return fmt.Sprintf("| %d | %d |", n.sessions, n.bytes) })
	section("suite", "The official conformance suite: verdicts",
		"| suite, server | scenarios | verdicts |",
		func(n tally) string { return fmt.Sprintf("| %d | %d |", n.sessions, n.verdicts) })
	return b.String()
}

// write writes the table if every kind of comparison was made.
func (l *ledger) write() error {
	for _, kind := range []string{"transcripts", "clients", "stateless", "inspector", "suite"} {
		if _, _, sum := l.of(kind); sum == (tally{}) {
			return fmt.Errorf("no comparison of kind %s was made: RESULTS.md stays as it was", kind)
		}
	}
	return os.WriteFile("RESULTS.md", []byte(l.table()), 0o644)
}
