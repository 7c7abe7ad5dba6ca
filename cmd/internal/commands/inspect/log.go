package inspect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
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
	"github.com/mcp-jail/mcp-jail/cmd/internal/journal"
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
	cmd := line.Command("log [options] [SERVER]", "Show what a server did", 1, false, func(args []string) error {
		l.server = cli.FirstOf(args)
		return l.Run(line.Console)
	})
	cmd.Long = `log shows the last session of SERVER: which tools were called, which hosts it reached,
what the jail blocked, what somebody allowed, and which files it changed, if undo is on.
Without SERVER it has all sessions of the last day. What servers did is written down unless
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
	Terminal                    bool

	text []byte
}

// logSession is what the log says of a session. The first line is the start.
type logSession struct {
	of    *index.Server
	lines []logLine
	runs  bool
}

// Run shows the sessions.
func (l *logCmd) Run(c terminal.Console) error {
	x, err := index.Read()
	if err != nil {
		return err
	}
	servers, since := x.Sessions(), time.Now().Add(-cmp.Or(l.since, cli.Day))
	if l.server != "" {
		s, err := x.Pick(l.server, func(s *index.Server) bool { return s.Kept != nil })
		if err != nil {
			return err
		}
		if servers = []*index.Server{s}; l.since == 0 {
			since = time.Time{}
		}
	}
	var all []logSession
	for _, s := range servers {
		sessions, broken, err := read(x, s)
		if err != nil {
			return err
		}
		if broken > 0 {
			c.Notef("%s the log of %s has %s that cannot be read", c.Paint(terminal.Yellow, "warning:"), show.Name(s.Name), cli.Plural(broken, "line"))
		}
		all = append(all, slices.DeleteFunc(sessions, func(t logSession) bool { return t.lines[0].Time.Before(since) })...)
	}
	slices.SortStableFunc(all, func(a, b logSession) int { return a.lines[0].Time.Compare(b.lines[0].Time) })
	if l.server != "" && l.since == 0 {
		all = all[max(0, len(all)-1):]
	}
	switch {
	case l.format == "json":
		for _, t := range all {
			for _, line := range t.lines {
				c.Printf("%s\n", show.JSON(line.text))
			}
		}
		return nil
	case len(all) == 0 && l.server != "":
		return errors.New("nothing is written down of " + show.Name(l.server) + ` in this time. It has run before there was a log, or with log = "off", or not at all`)
	case len(all) == 0:
		c.Printf("Nothing is written down of this time.\n")
	case l.server == "":
		rows := [][]cli.Cell{cli.Heading("SERVER", "CLIENT", "WHEN", "CALLS", "BLOCKED")}
		for _, t := range all {
			when := cli.DayText(time.Now(), t.lines[0].Time)
			rows = append(rows, []cli.Cell{cli.Words(t.of.Name), cli.Words(t.lines[0].Client), cli.Whole(when), cli.Amount(strconv.Itoa(t.count("call"))), cli.Amount(strconv.Itoa(len(t.blocked())))})
		}
		c.Printf("%s", cli.Columns(rows, c.TableColumns(), map[int]int{0: 12, 1: 10}, []int{1, 0}))
	default:
		for _, t := range all {
			c.PrintText(t.text(x.Host.Home) + "\n")
		}
		c.PrintText("All of it: " + show.Line(cli.ShortPath(filepath.Join(records.Path(x.Host, all[0].of.Kept.Name), journal.File), x.Host.Home)) + "\n")
	}
	return nil
}

// read returns the sessions of a server. A grant from outside is among the lines of the session that began before it.
func read(x *index.Index, s *index.Server) (all []logSession, broken int, err error) {
	if s.Kept == nil {
		return nil, 0, nil
	}
	d, err := records.Open(x.Host, s.Kept.Name)
	if err != nil {
		return nil, 0, err
	}
	defer d.Close()
	lines, broken, err := journal.Read(d.Dir)
	for _, text := range lines {
		line := logLine{text: text}
		if json.Unmarshal(text, &line) != nil {
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
	}
	if len(all) > 0 {
		all[len(all)-1].runs = d.Running()
	}
	return all, broken, err
}

func (t logSession) count(event string) (n int) {
	for _, line := range t.lines {
		n += map[bool]int{true: 1}[line.Event == event]
	}
	return n
}

// last returns the lines of an event, the last one for each key, in the order of their first ones.
func (t logSession) last(event string, key func(logLine) string) (lines []logLine) {
	for _, line := range t.lines {
		if line.Event != event {
			continue
		}
		if at := slices.IndexFunc(lines, func(o logLine) bool { return key(o) == key(line) }); at >= 0 {
			lines[at] = line
		} else {
			lines = append(lines, line)
		}
	}
	return lines
}

func (t logSession) blocked() []logLine {
	return t.last("refused", func(l logLine) string { return l.Operation + "\x00" + l.Target + "\x00" + l.Tool })
}

// text is what people read of a session.
func (t logSession) text(home string) string {
	var b strings.Builder
	first, last := t.lines[0], t.lines[len(t.lines)-1]
	ended := slices.IndexFunc(t.lines, func(l logLine) bool { return l.Event == "end" })
	b.WriteString(show.Name(t.of.Name))
	if first.Client != "" {
		b.WriteString(", for " + show.Line(first.Client))
	}
	if first.Directory != "" {
		b.WriteString(" in " + show.Line(cli.ShortPath(first.Directory, home)))
	}
	b.WriteString(", " + cli.DayText(time.Now(), first.Time))
	missing := ended < 0
	switch {
	case ended >= 0:
		end := t.lines[ended]
		missing = end.Omitted > 0
		fmt.Fprintf(&b, " to %s, ended by %s, with status %d", end.Time.Local().Format("15:04"), map[string]string{"client": "its client", "server": "the server"}[end.By]+map[bool]string{true: "mcp-jail"}[end.By == "mcp-jail"], end.Exit)
	case t.runs:
		b.WriteString(", still running")
	default:
		b.WriteString(" to " + last.Time.Local().Format("15:04") + " or later: mcp-jail was killed")
	}
	b.WriteString("\n")
	section := func(name string, lines []string) {
		for i, line := range lines {
			fmt.Fprintf(&b, "  %-8s %s\n", name[:map[bool]int{true: len(name)}[i == 0]], show.Line(line))
		}
	}
	section("calls", t.calls())
	var hosts, blocked, allowed, files []string
	for _, h := range t.last("host", func(l logLine) string { return net.JoinHostPort(l.Address, strconv.Itoa(l.Port)) }) {
		name := h.Address
		if h.Address != policy.DenialOthers {
			name = net.JoinHostPort(h.Address, strconv.Itoa(h.Port))
		}
		hosts = append(hosts, fmt.Sprintf("%s: %s, %s out, %s in", name, cli.Plural(h.Connections, "connection"), cli.SizeText(h.Sent), cli.SizeText(h.Received)))
	}
	for _, r := range t.blocked() {
		text := r.Time.Local().Format("15:04") + " " + r.Operation + " " + cli.ShortPath(r.Target, home)
		if r.Tool != "" {
			text += ", in " + r.Tool
		}
		if r.Count > 1 {
			text += fmt.Sprintf(", %d times", r.Count)
		}
		blocked = append(blocked, text)
	}
	for _, line := range t.lines {
		switch line.Event {
		case "grant":
			how := map[bool]string{true: "in a terminal", false: "without a terminal"}[line.Terminal]
			allowed = append(allowed, fmt.Sprintf("%s %s, by %s, from %s %s", line.Time.Local().Format("15:04"), strings.Join(line.Rules, " "), line.By, cmp.Or(line.Parent, "a program"), how))
		case "changed":
			files = append(files, line.Operation+" "+cli.ShortPath(line.Path, home))
		}
	}
	switch {
	case files != nil:
	case first.Undo == "" || first.Undo == policy.UndoOff:
		files = []string{"not recorded, because undo is off: mcp-jail help undo"}
	case missing:
		files = []string{"not known, because lines are missing"}
	default:
		files = []string{"none changed where undo looks"}
	}
	section("hosts", hosts)
	section("blocked", blocked)
	section("allowed", allowed)
	section("files", files)
	if ended >= 0 && t.lines[ended].Omitted > 0 {
		section("missing", []string{cli.Plural(t.lines[ended].Omitted, "line")})
	}
	return b.String()
}

// calls says how often each tool was called.
func (t logSession) calls() []string {
	var names []string
	count, failed := map[string]int{}, map[string]int{}
	for _, line := range t.lines {
		if line.Event != "call" {
			continue
		}
		name := cmp.Or(line.Tool, line.Method)
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
		if line.Error != "" {
			failed[name]++
		}
	}
	var out bytes.Buffer
	for i, name := range names {
		if i > 0 {
			out.WriteString(", ")
		}
		fmt.Fprintf(&out, "%s %d", show.Name(name), count[name])
		if failed[name] > 0 {
			fmt.Fprintf(&out, " (%d failed)", failed[name])
		}
	}
	return []string{cmp.Or(out.String(), "none recorded")}
}
