package inspect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/eventlog"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

type logCmd struct {
	server, format string
	since          time.Duration
}

// Log returns the command log.
func Log(line *cli.CommandLine) *cobra.Command {
	l := &logCmd{}
	cmd := line.Command("log [options] [SERVER]", 1, false, func(args []string) error {
		l.server = cli.FirstOf(args)
		return l.Run(line.Console)
	})
	cmd.Long = `log shows the last session of SERVER: which tools were called, which hosts it reached,
what the jail blocked, what somebody allowed, and which files it changed, if undo is on.
Without SERVER it lists the sessions of the last day. What servers did is written down unless
log = "off" is in their files. It has no arguments and no answers.`
	cmd.Example = `    mcp-jail log
    mcp-jail log github
    mcp-jail log github --since 72h --format json`
	cmd.Flags().Var(cli.Duration(&l.since), "since", "All sessions that began in this time, such as 72h")
	cli.Propose(cmd, "since", cobra.NoFileCompletions)
	cli.AddFlags(cmd, cli.FormatFlag(&l.format))
	return cmd
}

// logLine is a line of the log: see docs/log.md.
type logLine struct {
	Time                        time.Time
	Event, By, Path, Parent     string
	Operation, Target           string
	Session                     string `json:"mcp.session.id"`
	Client                      string `json:"mcp_jail.client"`
	Directory                   string `json:"mcp_jail.directory"`
	Undo                        string `json:"mcp_jail.undo"`
	Method                      string `json:"mcp.method.name"`
	Tool                        string `json:"gen_ai.tool.name"`
	Error                       string `json:"error.type"`
	Address                     string `json:"server.address"`
	Port                        int    `json:"server.port"`
	Connections                 int
	Sent, Received              int64
	Count, Exit, Calls, Omitted int
	Rules                       []string
	Terminal, Taken             bool

	text []byte
}

// logSession is what the log says of a session, or of grants before the first one that is written down. The first line is
// the start, unless that is lost.
type logSession struct {
	of     *index.Server
	lines  []logLine
	end    *logLine // nil: it has none yet
	runs   bool     // a session of the server runs, perhaps another one
	broken bool     // the log has lines that cannot be read, of any session
}

// Run shows the sessions.
func (l *logCmd) Run(c terminal.Console) error {
	x, err := index.Read()
	if err != nil {
		return err
	}
	servers, since, last := x.Sessions(), time.Now().Add(-cmp.Or(l.since, cli.Day)), false
	if l.server != "" {
		s, err := x.Pick(l.server, func(s *index.Server) bool { return s.Kept != nil })
		if err != nil {
			return err
		}
		servers, last = []*index.Server{s}, l.since == 0
	}
	var all []logSession
	for _, s := range servers {
		found, broken, err := read(x, s)
		if err != nil {
			return err
		}
		if broken > 0 {
			c.Notef("%s the log of %s has %s that cannot be read", c.Paint(terminal.Yellow, "warning:"), show.Name(s.Name), cli.Plural(broken, "line"))
		}
		if last {
			found = found[max(0, len(found)-1):]
		} else {
			found = slices.DeleteFunc(found, func(t logSession) bool { return t.lines[0].Time.Before(since) })
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b logSession) int { return a.lines[0].Time.Compare(b.lines[0].Time) })
	switch {
	case l.format == "json":
		for _, t := range all {
			for _, line := range t.lines {
				c.Printf("%s\n", show.JSON(line.text))
			}
		}
	case len(all) == 0:
		c.PrintText("Nothing is written down of this time. A server has no log if it has not run, or with log = \"off\".\n")
	case l.server == "":
		for _, t := range all {
			c.PrintText(t.heading(x.Host.Home) + "\n")
		}
	default:
		for _, t := range all {
			c.PrintText(t.page(x.Host.Home) + "\n")
		}
		c.PrintText("All of it: " + show.Line(cli.ShortPath(filepath.Join(records.Path(x.Host, all[0].of.Kept.Name), eventlog.File), x.Host.Home)) + "\n")
	}
	return nil
}

// read returns the sessions of a server.
func read(x *index.Index, s *index.Server) (all []logSession, broken int, err error) {
	if s.Kept == nil {
		return nil, 0, nil
	}
	d, err := records.Open(x.Host, s.Kept.Name)
	if err != nil {
		return nil, 0, err
	}
	defer d.Close()
	lines, err := eventlog.Read(d.Dir)
	all, broken = sessions(s, lines, d.Running())
	return all, broken, err
}

// sessions returns the sessions that lines are of. A grant from outside is among the lines of the session that began before
// it. broken is how many lines cannot be read, and runs whether a session of the server does.
func sessions(s *index.Server, lines [][]byte, runs bool) (all []logSession, broken int) {
	for _, text := range lines {
		line := logLine{text: text}
		if json.Unmarshal(text, &line) != nil || line.Event == "" {
			broken++
			continue
		}
		at := slices.IndexFunc(all, func(t logSession) bool { return t.lines[0].Session == line.Session })
		if at < 0 && line.Event == "grant" {
			at = len(all) - 1
		}
		if at < 0 {
			all, at = append(all, logSession{of: s}), len(all)
		}
		all[at].lines = append(all[at].lines, line)
		if line.Event == "end" {
			all[at].end = &line
		}
	}
	for i := range all {
		all[i].runs, all[i].broken = runs, broken > 0
	}
	return all, broken
}

// isSession reports whether there is anything but grants.
func (t logSession) isSession() bool {
	return slices.ContainsFunc(t.lines, func(l logLine) bool { return l.Event != "grant" })
}

// heading says whose session it was, when, and who ended it.
func (t logSession) heading(home string) string {
	first := t.lines[0]
	text := show.Name(t.of.Name)
	if first.Client != "" {
		text += ", for " + show.Line(first.Client)
	}
	if first.Directory != "" {
		text += " in " + show.Line(cli.ShortPath(first.Directory, home))
	}
	text += ", " + cli.DayText(time.Now(), first.Time)
	switch {
	case !t.isSession():
		text += ", before the first session of the log"
	case t.end != nil:
		by := map[string]string{"client": "its client", "server": "the server", "mcp-jail": "mcp-jail"}[t.end.By]
		text += fmt.Sprintf(" to %s, ended by %s, with status %d", clock(t.end.Time), by, t.end.Exit)
		if t.end.Omitted > 0 {
			text += ": " + cli.Plural(t.end.Omitted, "line") + " left out"
		}
	case t.runs:
		text += ", still running, or mcp-jail was killed"
	default:
		text += " to " + clock(t.lines[len(t.lines)-1].Time) + " or later: mcp-jail was killed"
	}
	return text
}

// page is what people read of a session.
func (t logSession) page(home string) string {
	text, sections := t.heading(home)+"\n", t.sections(home)
	for _, title := range []string{"calls", "hosts", "blocked", "allowed", "taken", "files"} {
		for _, line := range sections[title] {
			text += fmt.Sprintf("  %-8s %s\n", title, show.Line(line))
			title = ""
		}
	}
	return text
}

// sections are what happened in a session. What came more than once is where it came first.
func (t logSession) sections(home string) map[string][]string {
	all, places := map[string][]string{}, map[[2]string]int{}
	put := func(section, key, text string) {
		at, known := places[[2]string{section, key}]
		if !known {
			at, all[section] = len(all[section]), append(all[section], "")
			places[[2]string{section, key}] = at
		}
		all[section][at] = text
	}
	calls, failed := map[string]int{}, map[string]int{}
	for i, line := range t.lines {
		switch line.Event {
		case "call":
			name := cmp.Or(line.Tool, line.Method)
			if calls[name]++; line.Error != "" {
				failed[name]++
			}
			text := fmt.Sprintf("%s %d", show.Name(name), calls[name])
			if failed[name] > 0 {
				text += fmt.Sprintf(" (%d failed)", failed[name])
			}
			put("calls", name, text)
		case "host":
			name := line.Address
			if name != policy.DenialOthers {
				name = net.JoinHostPort(name, strconv.Itoa(line.Port))
			}
			put("hosts", name, fmt.Sprintf("%s: %s, %s out, %s in", name, cli.Plural(line.Connections, "connection"), cli.SizeText(line.Sent), cli.SizeText(line.Received)))
		case "refused":
			text := line.Operation + " " + cli.ShortPath(line.Target, home)
			if line.Tool != "" {
				text += ", in " + line.Tool
			}
			put("blocked", text, fmt.Sprintf("%s %s, %s", clock(line.Time), text, cli.Plural(line.Count, "time")))
		case "grant":
			how := map[bool]string{true: "in a terminal", false: "without a terminal"}[line.Terminal]
			section := "allowed"
			if line.Taken {
				section = "taken"
			}
			put(section, strconv.Itoa(i), fmt.Sprintf("%s %s, by %s, from %s %s", clock(line.Time), strings.Join(line.Rules, " "), line.By, cmp.Or(line.Parent, "a program"), how))
		case "changed":
			put("files", strconv.Itoa(i), line.Operation+" "+cli.ShortPath(line.Path, home))
		}
	}
	switch first := t.lines[0]; { // only a whole log of undo shows that no file was changed
	case all["files"] != nil, !t.isSession():
	case first.Event == "start" && (first.Undo == "" || first.Undo == policy.UndoOff):
		put("files", "", "not recorded, because undo is off: mcp-jail help undo")
	case first.Event != "start" || t.broken || t.end == nil || t.end.Omitted > 0:
		put("files", "", "not known, because lines are missing")
	default:
		put("files", "", "none changed where undo looks")
	}
	return all
}

func clock(t time.Time) string { return t.Local().Format("15:04") }
