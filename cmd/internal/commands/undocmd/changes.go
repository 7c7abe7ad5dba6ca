package undocmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/keeping"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/undo"
)

// kept is what undo keeps of servers.
type kept struct {
	server string       // as it was typed; "" means all
	index  *index.Index // with their names
}

type changesCmd struct {
	kept
	session string
	call    int
	diff    bool
	format  string
}

func Changes(line *cli.CommandLine) *cobra.Command {
	l := &changesCmd{}
	cmd := line.Command("changes [flags] [SERVER]", "Show what servers with undo have changed in your files.", 1, false, func(args []string) error {
		l.server = cli.FirstOf(args)
		return l.Run(line.Console)
	})
	cmd.Long = `SERVER is the name of a server whose configuration has undo = "session" or
undo = "call". Default: all of them.

For each session that is kept, changes lists what the server has made, changed,
removed and renamed, and with undo = "call" what each call has. What it made and
removed itself is left out. What ` + "`mcp-jail undo`" + ` has done is a session too.`
	cmd.Example = `    mcp-jail changes
    mcp-jail changes filesystem --diff
    mcp-jail changes filesystem --session 20261123-101845-7f15 --call 3`
	f := cmd.Flags()
	f.StringVar(&l.session, "session", "", "Show this session only.")
	f.IntVar(&l.call, "call", 0, "Show this call only: its number in the session.")
	f.BoolVar(&l.diff, "diff", false, "Show how the files differ from what stood there before.")
	cli.AddFlags(cmd, cli.FormatFlag(&l.format))
	cli.Propose(cmd, "session", proposeSessions(line))
	cli.Propose(cmd, "call", cobra.NoFileCompletions)
	cmd.ValidArgsFunction = proposeUndo
	return cmd
}

func (l *changesCmd) Run(c terminal.Console) error {
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	all, err := l.sessions(c, host)
	if err != nil {
		return err
	}
	undone := undoneBy(all)
	if l.session != "" {
		if all, err = l.ofSession(all, l.session); err != nil {
			return err
		}
	}
	if l.call != 0 {
		if all, err = l.withCall(all, l.call); err != nil {
			return err
		}
	}
	var out []sessionChanges
	for _, s := range all {
		if one := l.changesOf(s); len(one.Changes)+len(one.Unknown) > 0 {
			one.Undone = undone[s.ID]
			out = append(out, one)
		}
	}
	switch {
	case l.format == "json":
		cli.PrintJSON(c, append([]sessionChanges{}, out...))
	case len(out) == 0 && l.server+l.session == "":
		c.PrintText("nothing is kept of any server: " + howKept + "\n")
	case len(out) == 0:
		c.Printf("there are no changes\n")
	default:
		for i, s := range out {
			if i > 0 {
				c.Printf("\n")
			}
			l.show(c, s)
		}
	}
	return nil
}

// sessionChanges are the changes of one session, in the output of changes --format json.
type sessionChanges struct {
	Server  string      `json:"server"`
	Session string      `json:"session"`
	Started time.Time   `json:"started"`
	State   string      `json:"state"` // "running", "ended" or "killed"
	Undoes  string      `json:"undoes,omitempty"`
	Undone  string      `json:"undone,omitempty"` // the session that has undone it, in whole or in part
	Calls   []undo.Call `json:"calls,omitempty"`
	Changes []change    `json:"changes"`
	Unknown []undo.Gap  `json:"unknown,omitempty"` // the gaps of the session
}

func (k *kept) ofSession(all []*undo.Session, id string) ([]*undo.Session, error) {
	for _, s := range all {
		if s.ID == id {
			return []*undo.Session{s}, nil
		}
	}
	return nil, fmt.Errorf("there is no session %q: `%s` shows them", id, changesLine(k.server))
}

func (k *kept) withCall(all []*undo.Session, call int) ([]*undo.Session, error) {
	has := slices.DeleteFunc(slices.Clone(all), func(s *undo.Session) bool {
		return !slices.ContainsFunc(s.Calls, func(c undo.Call) bool { return c.Number == call })
	})
	switch {
	case len(has) > 0:
		return has, nil
	case len(all) == 1:
		return nil, fmt.Errorf("session %s has no call %d:\n`%s` shows its calls", all[0].ID, call, k.line("changes", all[0].Head.Server, all[0].ID))
	}
	return nil, fmt.Errorf("no session has a call %d: `%s` shows the calls", call, changesLine(k.server))
}

// change is a change with its difference.
type change struct {
	undo.Event
	Diff string `json:"diff,omitempty"`
}

func (l *changesCmd) changesOf(s *undo.Session) sessionChanges {
	out := sessionChanges{Server: s.Head.Server, Session: s.ID, Started: s.Started, State: "ended", Undoes: s.Head.Undoes, Calls: s.Calls, Unknown: s.Gaps}
	sel := undo.Selection{Call: l.call}
	switch {
	case s.Running:
		out.State = "running"
	case !s.Ended:
		out.State = "killed"
	}
	for _, e := range s.Events(sel) {
		one := change{Event: e}
		if l.diff {
			one.Diff = s.Diff(sel, e)
		}
		out.Changes = append(out.Changes, one)
	}
	return out
}

// undoneBy returns the session that has undone each session. An undo that was undone itself does not
// count.
func undoneBy(all []*undo.Session) map[string]string {
	undone := map[string]string{}
	for _, s := range all { // the latest first
		if s.Head.Undoes != "" && undone[s.ID] == "" && undone[s.Head.Undoes] == "" {
			undone[s.Head.Undoes] = s.ID
		}
	}
	return undone
}

// maxShown bounds the changes of a session that are shown without --session and --diff.
const maxShown = 25

func (l *changesCmd) show(c terminal.Console, s sessionChanges) {
	c.Printf("%s  session %s", c.Paint(terminal.Bold, show.Name(l.index.NameOf(s.Server))), s.Session)
	switch {
	case s.Undoes != "":
		c.Printf(", the undo of %s", s.Undoes)
	case s.State != "ended":
		c.Printf(", %s", s.State)
	}
	if s.Undone != "" {
		c.Printf(", undone (in whole or in part) by %s", s.Undone)
	}
	c.Printf("\n")
	for _, call := range s.Calls {
		if l.call == 0 || l.call == call.Number {
			beside := ""
			if call.Beside {
				beside = "  (others ran meanwhile: its changes may be theirs)"
			}
			c.Printf("  call %d  %s%s\n", call.Number, show.Name(call.Tool), beside)
		}
	}
	shown := s.Changes
	// One who asks for a session or for differences gets all of it.
	if l.session == "" && !l.diff && len(shown) > maxShown {
		shown = shown[:maxShown]
	}
	for _, one := range shown {
		c.Printf("  %-8s %s\n", one.Operation, show.Line(one.text()))
		if one.Diff != "" {
			c.Printf("%s", show.Lines(one.Diff))
		}
	}
	showUnknown(c, s.Unknown)
	if more := len(s.Changes) - len(shown); more > 0 {
		c.Printf("  and %d more: %s\n", more, l.line("changes", s.Server, s.Session))
	}
}

// maxUnknown bounds the gaps of a session that are shown.
const maxUnknown = 5

func showUnknown(c terminal.Console, gaps []undo.Gap) {
	if len(gaps) == 0 {
		return
	}
	c.Printf("  %s\n", c.Paint(terminal.Yellow, "not everything is known of this session"+diagnostics.PageUndo.Reference()+":"))
	for _, gap := range gaps[:min(len(gaps), maxUnknown)] {
		text := gap.Why
		if gap.Path != "" {
			text = gap.Path + ": " + text
		}
		c.Printf("    %s\n", show.Line(text))
	}
	if more := len(gaps) - maxUnknown; more > 0 {
		c.Printf("    and %d more\n", more)
	}
}

func (e change) text() string {
	text := e.Path
	if e.To != "" {
		text += " -> " + e.To
	}
	if len(e.Calls) > 0 {
		var calls []string
		for _, number := range e.Calls {
			calls = append(calls, fmt.Sprint(number))
		}
		text += "  (call " + strings.Join(calls, ", ") + ")"
	}
	if e.Others {
		text += "  (changed by others meanwhile)"
	}
	if e.Lost != "" {
		text += ": cannot be put back: " + e.Lost
	}
	return text
}

// sessions returns the sessions that are kept of the server, or of all servers, the latest first. It prints an error
// about journals that cannot be read.
func (k *kept) sessions(c terminal.Console, host hostfs.Host) (all []*undo.Session, err error) {
	names := undoServers(host)
	if k.index, err = index.Read(); err != nil {
		return nil, err
	}
	if k.server != "" {
		s, err := k.index.Pick(k.server, func(s *index.Server) bool { return slices.Contains(names, s.Key) })
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, s.Key) {
			return nil, errNothingKept(k.index, s, names)
		}
		names = []string{s.Key}
	}
	for _, name := range names {
		store := keeping.Store(host, name)
		sessions, err := store.Sessions()
		// What another user may have written is a reason to stop. Other errors hide one journal.
		var owner *hostfs.OwnerError
		if errors.As(err, &owner) {
			return nil, err
		}
		if err != nil {
			c.Errorf("%s", show.Line(err.Error()))
		}
		all = append(all, sessions...)
	}
	slices.SortStableFunc(all, func(a, b *undo.Session) int { return b.Started.Compare(a.Started) })
	return all, nil
}

func errNothingKept(x *index.Index, s *index.Server, names []string) error {
	text := fmt.Sprintf("nothing is kept of %s", s.Title())
	for i, name := range names {
		names[i] = show.Name(x.NameOf(name))
	}
	if len(names) > 0 {
		return errors.New(text + "; there is something of " + strings.Join(names, ", "))
	}
	return errors.New(text + ":\n" + howKept)
}

// howKept says how something comes to be kept.
const howKept = `undo = "session" below [defaults] in ~/.config/mcp-jail/config.toml keeps what servers change from then on. If it is there, no server has changed a file of yours since`

func undoServers(host hostfs.Host) (names []string) {
	all, _ := stored.Names(host)
	for _, name := range all {
		if !keeping.Store(host, name).Empty() {
			names = append(names, name)
		}
	}
	return names
}

func proposeUndo(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	x, err := index.Read()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names := undoServers(x.Host)
	return x.Names(func(s *index.Server) bool { return slices.Contains(names, s.Key) }), cobra.ShellCompDirectiveNoFileComp
}

func changesLine(server string) string {
	if server == "" {
		return "mcp-jail changes"
	}
	return show.Typed("mcp-jail changes", server)
}

// line is a command about a session of the server with a key.
func (k *kept) line(command, key, id string) string {
	return show.Typed("mcp-jail "+command+" --session "+id, k.index.NameOf(key))
}

func proposeSessions(line *cli.CommandLine) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
		host, err := hostfs.LocalHost()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		sessions, err := (&kept{server: cli.FirstOf(args)}).sessions(line.Console, host)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, s := range sessions {
			ids = append(ids, cobra.CompletionWithDesc(s.ID, s.Started.Local().Format("2 January 15:04")))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}
