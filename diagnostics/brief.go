package diagnostics

import "github.com/mcp-jail/mcp-jail/internal/show"

// Brief returns What without the name of the server, for lists that have the name beside it.
func (d Diagnosis) Brief() string {
	sentences := []func(of string) string{
		func(of string) string { return toolFailed(d.Tool, of) },
		func(of string) string { return somethingRefused(duringCall(d.Tool), of) },
		func(of string) string { return toolsDiffer(of, true, false) },
		func(of string) string { return toolsDiffer(of, true, true) },
		func(of string) string { return toolsDiffer(of, false, false) },
		func(of string) string { return toolsDiffer(of, false, true) },
	}
	for _, sentence := range sentences {
		if sentence(ofServer(d.Server)) == d.What {
			return sentence("")
		}
	}
	return d.What
}

func ofServer(name string) string { return " of server " + show.Quote(name) }

func duringCall(tool string) string { return " during the call of " + show.Quote(tool) }

func toolFailed(tool, of string) string { return "the tool " + show.Quote(tool) + of + " failed" }

func somethingRefused(during, of string) string { return "the jail refused something" + during + of }

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
