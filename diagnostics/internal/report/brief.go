package report

import "github.com/mcp-jail/mcp-jail/internal/show"

// Brief returns What without the name of the server, for lists that have the name beside it.
func (d Diagnosis) Brief() string {
	sentences := []func(of string) string{
		func(of string) string { return ToolFailed(d.Tool, of) },
		func(of string) string { return SomethingRefused(DuringCall(d.Tool), of) },
		func(of string) string { return toolsDiffer(of, true, false) },
		func(of string) string { return toolsDiffer(of, true, true) },
		func(of string) string { return toolsDiffer(of, false, false) },
		func(of string) string { return toolsDiffer(of, false, true) },
	}
	for _, sentence := range sentences {
		if sentence(OfServer(d.Server)) == d.What {
			return sentence("")
		}
	}
	return d.What
}

// OfServer names a server in one of the sentences below.
func OfServer(name string) string { return " of server " + show.Quote(name) }

// DuringCall says which call a sentence is about.
func DuringCall(tool string) string { return " during the call of " + show.Quote(tool) }

// ToolFailed is What of a call that failed. of is [OfServer], or "" for a brief one.
func ToolFailed(tool, of string) string { return "the tool " + show.Quote(tool) + of + " failed" }

// SomethingRefused is What of a call that succeeded although the jail refused something.
func SomethingRefused(during, of string) string { return "the jail refused something" + during + of }

func toolsDiffer(of string, isKnown, isRefused bool) string {
	s := "the tools" + of + " are not those that mcp-jail.lock pins"
	if !isKnown {
		s = "the tools" + of + " cannot be compared with those that mcp-jail.lock pins"
	}
	if isRefused {
		s += `, and pin_tools is "enforce"`
	}
	return s
}
