package report

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/leak"
)

// Leak describes secrets in something that a server sends. It has their names only.
type Leak struct {
	Server, Tool string
	Place        string // "an answer", "a log message", "the URL of a request to api.example.com"
	Found        []leak.Found
	Declared     bool // the server has a table of its own, [servers.NAME]
	Blocked      bool // it is not sent on
}

// text names the secrets.
func (l Leak) text() string {
	var all []string
	for _, f := range l.Found {
		if f.Form == leak.Token {
			all = append(all, "what looks like a token ("+f.Name+")")
		} else {
			all = append(all, "the value of "+show.Line(f.Name)+" ("+string(f.Form)+")")
		}
	}
	return strings.Join(all, ", and ")
}

// Diagnosis returns the diagnosis of a leak that is not sent on.
func (l Leak) Diagnosis() Diagnosis {
	return Diagnosis{
		Code: CodeLeak, Stage: StageCall, Attribution: Certain, Server: l.Server, Tool: l.Tool, Explain: PageLeak,
		What:  fmt.Sprintf(`server %s: %s was not passed on, since leaks is "block"`, show.Quote(l.Server), show.Line(l.Place)),
		Cause: "it has " + l.text(),
		Fix:   "have the server send it without that; " + l.line("warn") + " passes such messages on, with a warning",
	}
}

// Warning returns a line about a leak: that it was sent on, or that it was dropped.
func (l Leak) Warning() string {
	said := fmt.Sprintf("warning: server %s sends %s in %s", show.Quote(l.Server), l.text(), show.Line(l.Place))
	if l.Blocked {
		return said + `; it was dropped, since leaks is "block"` + PageLeak.Reference()
	}
	return said + "; if it must not be there, replace the secret; " + l.line("block") + " refuses such messages" + PageLeak.Reference()
}

// line says what to write for another value of leaks.
func (l Leak) line(value string) string {
	table := "[defaults]"
	if l.Declared {
		table = "[servers." + show.Key(l.Server) + "]"
	}
	return fmt.Sprintf("leaks = %q under %s", value, table)
}
