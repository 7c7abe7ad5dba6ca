package report

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// gerunds have what a program was blocked from, by the operation of a denial.
var gerunds = map[string]string{
	"": "using", "connect": "reaching", "send": "sending to", "resolve": "looking up", "exec": "starting", "read": "reading", "list": "listing",
	"create": "creating", "write": "writing", "truncate": "truncating", "remove": "removing", "mkdir": "making the directory", "rename": "renaming something to",
}

// Blocked says what the jail blocked: which program, and from what. target is the shown name of that.
func Blocked(d policy.Denial, target string) string {
	who := "the server"
	if d.Program != "" {
		who = show.InSentence(filepath.Base(d.Program))
	}
	from, known := gerunds[d.Operation]
	switch {
	case IsNamelessLookup(d):
		from, target = "looking up a host", ""
	case !known:
		from = "this: " + show.Line(d.Operation) + " of"
	}
	return strings.TrimSpace("the jail blocked "+who+" from "+from+" "+target) + Arguments(d)
}

// Arguments returns the command line that was refused to a program, as a shell takes it.
func Arguments(d policy.Denial) string {
	if d.Reason != policy.DeniedArguments || len(d.Arguments) == 0 {
		return ""
	}
	return " as " + show.Spelled(d.Arguments)
}

// IsNamelessLookup reports whether d is a name lookup whose name the jail did not see.
func IsNamelessLookup(d policy.Denial) bool { return d.Operation == "resolve" && d.Target == "" }

// Joined returns texts as sentences, but for the first letter and the full stop at the end. Texts may be "".
func Joined(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
	for i := range texts {
		if i > 0 {
			texts[i] = sentence(texts[i])
		}
		if i < len(texts)-1 {
			texts[i] = fullStop(texts[i])
		}
	}
	return strings.TrimSuffix(strings.Join(texts, " "), ".")
}

func denialText(d policy.Denial) string {
	words := Blocked(d, show.Quote(d.Target))
	if d.Count > 1 {
		words += " (" + strconv.Itoa(d.Count) + " times)"
	}
	if d.Tool != "" {
		words += ", in " + show.InSentence(d.Tool)
	}
	if d.Detail != "" && d.Reason != policy.DeniedNotGranted {
		words += ": " + d.Detail
	}
	if d.Background {
		words += " (as also where nothing fails)"
	}
	return words
}
