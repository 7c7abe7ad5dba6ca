package wrapcmd

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/lines"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/runline"
)

func (f fileStatus) print(c terminal.Console, now time.Time) (bare int) {
	c.PrintText(f.title + "\n")
	if f.Problem != "" {
		c.PrintText(fmt.Sprintf("  %s %s\n", c.Paint(terminal.Yellow, "problem:"), show.Line(f.Problem)))
	}
	if f.Updated {
		c.PrintText(fmt.Sprintf("  %s it was wrapped, and an update brought its own file again: `mcp-jail wrap`\n", c.Paint(terminal.Yellow, "note:")))
	}
	if len(f.Servers) == 0 {
		return 0
	}
	rows := [][]cli.Cell{cli.Heading("  SERVER", "JAIL", "RUNS", "POLICY", "PINNED", "USED", "FAILED")}
	var notes []string
	for _, s := range f.Servers {
		jail, note := s.jail()
		if note != "" {
			notes = append(notes, note)
		}
		if jail == "no" && !s.open {
			bare++
		}
		used, failed := cli.Words(""), cli.Words("")
		if s.LastUsed != nil {
			used = cli.Whole(cli.AgoText(now, *s.LastUsed))
		}
		if s.LastFailure != nil && !s.LastFailure.Past {
			failed = cli.Whole(cli.AgoText(now, s.LastFailure.Time))
			notes = append(notes, show.Name(s.Name)+": "+s.LastFailure.Brief+" (more: "+show.Typed("mcp-jail why", s.called)+")")
		}
		notes = append(notes, s.fetched()...)
		if s.Problem != "" {
			notes = append(notes, show.Name(s.Name)+" cannot start: "+s.Problem)
		}
		if s.Outdated != "" {
			notes = append(notes, show.Name(s.Name)+" runs now: "+s.Outdated)
		}
		if s.Since != "" && (!s.Wrapped || s.Since != string(wrapping.Changed)) { // its flags are the user's to change
			notes = append(notes, show.Name(s.Name)+" was "+s.Since+" since mcp-jail wrote the file")
		}
		rows = append(rows, []cli.Cell{{Text: "  " + cli.Words(shownName(s.Name)).Text}, cli.Words(jail), cli.Words(runsOf(s.Command)), cli.Words(s.Policy), cli.Words(s.Pinned), used, failed})
	}
	for _, key := range f.Removed {
		notes = append(notes, show.Name(key)+" was removed since mcp-jail wrote the file")
	}
	notes = append(notes, waiverNotes(f.Servers)...)
	c.Printf("%s", cli.Columns(rows, c.TableColumns(), map[int]int{0: cli.NameWidth, 2: 30, 3: cli.OtherWidth, 4: cli.OtherWidth}, []int{2, 3, 0, 4}))
	for _, n := range notes {
		c.PrintText(fmt.Sprintf("  %s %s\n", c.Paint(terminal.Yellow, "note:"), terminal.ShortHome(show.Line(n), os.Getenv("HOME"))))
	}
	return bare
}

// jail says whether a server is in a jail, as a word, and why not.
func (s serverStatus) jail() (word, note string) {
	switch {
	case s.Repair || s.Unclear:
		if word = "?"; s.gone {
			word = "-"
		}
		return word, show.Name(s.Name) + s.unclear
	case s.State == granted:
		return "granted", show.Name(s.Name) + " is granted by this file, which others may have written: " + strings.Join(s.Granted, " ")
	case s.Wrapped:
		return "yes", ""
	case s.Left == "":
		return "no", ""
	case s.open:
		word = "no"
	default:
		word = "-"
	}
	return word, fmt.Sprintf("%s is left: it %s", s.Name, s.Left)
}

// fetched says what a wrapped server's line would fetch at each start.
func (s serverStatus) fetched() (notes []string) {
	if !s.Wrapped {
		return nil
	}
	for _, note := range lines.Fetched(s.Command) {
		notes = append(notes, show.Name(s.Name)+": "+note+" (more: "+show.Typed("mcp-jail check", s.Name)+")")
	}
	return notes
}

func shownName(name string) string {
	if name == "" {
		return ""
	}
	return show.Name(name)
}

func policyText(of *index.Server, w clients.Wrapped) string {
	if w.Argv == nil {
		return "the configuration's " + w.Name
	}
	if w.ID != "" {
		if of.File == nil {
			return "no file of the id"
		}
		return of.File.Server.Name
	}
	flags := map[string]int{}
	preset := ""
	for i := 0; i < len(w.Flags); i++ {
		name, value, joined := strings.Cut(w.Flags[i], "=")
		if !joined && i+1 < len(w.Flags) {
			i++
			value = w.Flags[i]
		}
		if flags[name]++; name == "--preset" {
			preset = value
		}
	}
	var parts []string
	if preset != "" {
		parts = append(parts, "preset "+preset)
	}
	for _, f := range []string{"read", "write", "execute", "deny", "net", "inbound", "env", "workspace", "home", "config", "limit", "waive"} {
		if n := flags["--"+f]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, f))
		}
	}
	if parts == nil {
		return "the default"
	}
	return strings.Join(parts, ", ")
}

func runsOf(argv []string) string {
	if line, err := runline.Parse(argv); err == nil {
		return line.Packages[0].String()
	}
	return show.Spelled(argv)
}
