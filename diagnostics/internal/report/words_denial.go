package report

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// LookupPhrase names the operation of a denial that IsNamelessLookup.
const LookupPhrase = "to look up the name of a host"

// Operation returns the attempted operation, as a phrase that the target follows: "to write".
// analyzeDenial and denialText put the sentences together.
func Operation(d policy.Denial) string {
	switch op := show.Line(d.Operation); op {
	case "":
		return "access to"
	case "connect":
		return "a connection to"
	case "send":
		return "a packet to"
	case "resolve":
		return "to resolve"
	case "exec":
		return "to start"
	case "read":
		return "to read"
	case "list":
		return "to list"
	case "create":
		return "to create"
	case "write":
		return "to write"
	case "truncate":
		return "to truncate"
	case "remove":
		return "to remove"
	case "mkdir":
		return "to make the directory"
	case "rename":
		return "to rename something to"
	default:
		return op + " of"
	}
}

// Arguments returns the command line that was refused to a program, as a shell takes it.
func Arguments(d policy.Denial) string {
	if d.Reason != policy.DeniedArguments || len(d.Arguments) == 0 {
		return ""
	}
	return " as " + show.Spelled(d.Arguments)
}

// ProgramAndCount returns which program was refused, and how often.
func ProgramAndCount(d policy.Denial) string {
	var parts []string
	if d.Program != "" {
		parts = append(parts, "by "+show.Quote(filepath.Base(d.Program)))
	}
	if d.Count > 1 {
		parts = append(parts, strconv.Itoa(d.Count)+" times")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// IsNamelessLookup reports whether d is a name lookup whose name the jail did not see.
func IsNamelessLookup(d policy.Denial) bool { return d.Operation == "resolve" && d.Target == "" }

// Joined returns two parts of a sentence. The first may be "".
func Joined(first, second string) string {
	if first == "" {
		return second
	}
	return first + "; " + second
}

func denialText(d policy.Denial) string {
	words := string(d.Axis) + ": " + Operation(d) + " " + show.Quote(d.Target) + Arguments(d) + ProgramAndCount(d)
	if IsNamelessLookup(d) {
		words = string(d.Axis) + ": " + LookupPhrase + ProgramAndCount(d)
	}
	if d.Tool != "" {
		words += ", tool " + show.Quote(d.Tool)
	}
	if d.Detail != "" && d.Reason != policy.DeniedNotGranted {
		words += ": " + d.Detail
	}
	if d.Background {
		words += " (usual: also where nothing fails)"
	}
	return words
}
