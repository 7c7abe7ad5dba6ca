package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// combined returns one addition to the client's command line with the flags of all diagnoses. ok is
// false where there is only one command line, or where the flags cannot be combined.
func (r Record) combined() (all addition, ok bool) {
	var first, flags, command []string
	several, known := false, true
	for _, d := range r.Diagnoses {
		if len(d.Line) == 0 || len(d.Declare) > 0 {
			continue
		}
		at := slices.Index(d.Line, "--")
		// The flags belong to one server: two commands have no line in common.
		if at < 2 || command != nil && !slices.Equal(command, d.Line[at:]) {
			return addition{}, false
		}
		added := d.addition().flags
		known = known && added != nil
		if first == nil {
			first, flags, command, all.flags = d.Line, slices.Clone(d.Line[:at]), d.Line[at:], added
			continue
		}
		several = several || !slices.Equal(first, d.Line)
		if flags = addFlags(flags, d.Line[2:at]); flags == nil {
			return addition{}, false
		}
		all.flags = addFlags(all.flags, added)
	}
	if !known { // a line that replaces the file's whole line: no flags are added to that
		all.flags = nil
	}
	all.line = slices.Concat(flags, command)
	return all, several
}

// notCombined says which refusals no combined command line grants, and why: those of hosts that
// caused no failure, and those of hosts whose names are not known.
func (r Record) notCombined() (lines []string) {
	var unneeded []string
	for _, h := range r.unreported() {
		if h.Axis == policy.AxisNet {
			unneeded = append(unneeded, show.Quote(h.Target))
		}
	}
	if unneeded != nil {
		lines = append(lines, "not in it: "+InWords(unneeded)+". Nothing failed without that: grant it if you know why the server wants it")
	}
	nameless := func(h Hint) bool { return h.Axis == policy.AxisNet && h.Target == "" }
	if slices.ContainsFunc(r.Diagnoses, func(d Diagnosis) bool { return len(d.Line) == 0 && slices.ContainsFunc(d.Hints, nameless) }) {
		lines = append(lines, "not in it: the hosts. A jail without a network does not learn their names: add --net HOST for each that the server needs")
	}
	return lines
}

// InWords returns the first five things, and how many more there are.
func InWords(things []string) string {
	const most = 5
	if more := len(things) - most; more > 0 {
		return strings.Join(things[:most], ", ") + " and " + strconv.Itoa(more) + " more"
	}
	return strings.Join(things, ", ")
}

// addFlags adds the missing flags. It returns nil if a flag that may occur once has two
// values.
func addFlags(flags, more []string) []string {
	for len(more) > 0 {
		n := 1
		if len(more) > 1 && !strings.Contains(more[0], "=") {
			n = 2
		}
		word := more[:n]
		more = more[n:]
		switch i := slices.Index(flags, word[0]); {
		case i >= 0 && word[0] == "--workspace" && !slices.Equal(flags[i:min(i+n, len(flags))], word):
			return nil
		case !containsRun(flags, word):
			flags = append(flags, word...)
		}
	}
	return flags
}

func containsRun(all, words []string) bool {
	for i := range all {
		if i+len(words) <= len(all) && slices.Equal(all[i:i+len(words)], words) {
			return true
		}
	}
	return false
}
