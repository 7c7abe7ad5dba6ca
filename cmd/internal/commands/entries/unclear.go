package entries

import (
	"fmt"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Unclear says of each entry that has a name at its client or in mcp-jail list, and a command line that
// starts mcp-jail, why its server does not start, or may start without this jail.
func Unclear(name string) (said []string) {
	host, files, err := (&Choice{}).Find()
	program, err2 := FindProgram(host)
	if err != nil || err2 != nil {
		return nil // status says why
	}
	for _, f := range files {
		for _, e := range f.Entries {
			v := f.Judge(e, program.Program, ClientsHost(host))
			if !v.Unclear || e.Server != name && v.Line.Name != name {
				continue
			}
			at := fmt.Sprintf("%s (%s, line %d)", f.Client.Title, show.Line(cli.ShortPath(f.Path, host.Home)), e.Line)
			text := show.Name(e.Server) + " of " + at + WhyUnclear(v, host.Home)
			if v.Repair != nil {
				text += "; `mcp-jail wrap` puts this program there"
			}
			said = append(said, text)
		}
	}
	return said
}

// WhyUnclear says why the server of an entry does not start, or may start without this jail. The text
// continues one that begins with its name.
func WhyUnclear(v wrapping.Verdict, home string) string {
	text := " may start without this jail: it "
	if v.Repair != nil && v.Repair.Gone {
		text = " cannot start: it "
	}
	return text + show.Line(terminal.ShortHome(string(v.Why), home))
}
