package commands

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/undo"
)

// nothingStored says how something comes to be stored.
const nothingStored = "To store changes from now on, add these lines to ~/.config/mcp-jail/config.toml:\n  [defaults]\n  undo = \"session\""

// sessions returns what is stored of the server, or of all servers, the latest first. It prints an error about journals
// that cannot be read.
func (u *undoCmd) sessions(c terminal.Console) (all []*undo.Session, err error) {
	names := serversWithUndo(u.index.Host)
	if u.server != "" {
		s, err := u.index.Pick(u.server, func(s *index.Server) bool { return slices.Contains(names, s.Key) })
		switch {
		case err != nil:
			return nil, err
		case !slices.Contains(names, s.Key):
			return nil, fmt.Errorf("no changes of %s are stored.\n%s", s.Title(), nothingStored)
		}
		names = []string{s.Key}
	}
	for _, name := range names {
		store := session.UndoStore(u.index.Host, name)
		sessions, old, err := store.Sessions()
		for _, dir := range old {
			c.Errorf("%s is of another version of mcp-jail, and is not read. Remove it when you do not need it any more", show.Name(dir))
		}
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

func serversWithUndo(host hostfs.Host) (names []string) {
	all, _ := index.StoredNames(host)
	return slices.DeleteFunc(all, func(name string) bool { return session.UndoStore(host, name).Empty() })
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

func (u *undoCmd) printList(c terminal.Console, sessions []*undo.Session, undone map[string]string) {
	shown := 0
	for _, s := range sessions {
		sel := undo.Selection{Call: u.call, Paths: u.paths}
		events := s.Events(sel)
		if len(events) == 0 && !s.Damaged {
			continue
		}
		if shown++; shown > 1 {
			c.Printf("\n")
		}
		u.printSession(c, s, sel, events, undone[s.ID])
	}
	if shown == 0 {
		c.PrintText(nothingStored + "\n")
	}
}

// undoSession is a session in JSON.
type undoSession struct {
	ID       string       `json:"id"`
	Server   string       `json:"server"`
	Started  time.Time    `json:"started"`
	Running  bool         `json:"running"`
	Killed   bool         `json:"killed"`
	Damaged  bool         `json:"damaged"`
	Undoes   string       `json:"undoes,omitempty"`
	UndoneBy string       `json:"undone_by,omitempty"`
	Changes  []undoChange `json:"changes"`
}

type undoChange struct {
	Path      string `json:"path"`
	Operation string `json:"operation"` // made, changed or removed
	Calls     []int  `json:"calls,omitempty"`
}

// listed is printList in JSON.
func (u *undoCmd) listed(sessions []*undo.Session, undone map[string]string) (r struct {
	Sessions []undoSession `json:"sessions"`
}) {
	r.Sessions = []undoSession{}
	for _, s := range sessions {
		of := undoSession{s.ID, u.index.NameOf(s.Head.Server), s.Started, s.Running, !s.Running && !s.Ended && s.Head.Undoes == "", s.Damaged, s.Head.Undoes, undone[s.ID], []undoChange{}}
		for _, e := range s.Events(undo.Selection{Call: u.call, Paths: u.paths}) {
			of.Changes = append(of.Changes, undoChange{e.Path, string(e.Operation), e.Calls})
		}
		if len(of.Changes) > 0 || s.Damaged {
			r.Sessions = append(r.Sessions, of)
		}
	}
	return r
}

// maxShown bounds the changes of a session that are shown without --session and --diff.
const maxShown = 25

func (u *undoCmd) printSession(c terminal.Console, s *undo.Session, sel undo.Selection, events []undo.Event, undone string) {
	state := ""
	switch {
	case s.Head.Undoes != "":
		state = ", the undo of " + s.Head.Undoes
	case s.Running:
		state = ", running"
	case !s.Ended:
		state = ", killed"
	}
	if undone != "" {
		state += ", undone (in whole or in part) by " + undone
	}
	name := c.Paint(terminal.Bold, show.Name(u.index.NameOf(s.Head.Server)))
	c.Printf("%s  %s (session %s%s)\n", name, cli.DayText(time.Now(), s.Started), s.ID, state)
	for _, call := range s.Calls {
		if u.call == 0 || u.call == call.Number {
			c.Printf("  call %d  %s\n", call.Number, show.InSentence(call.Tool))
		}
	}
	more := len(events) - maxShown
	if u.session != "" || u.diff { // all of it
		more = 0
	}
	for _, e := range events[:len(events)-max(0, more)] {
		c.Printf("  %-8s %s\n", e.Operation, show.Line(terminal.ShortHome(eventText(e), u.index.Host.Home)))
		if u.diff {
			c.Printf("%s", show.Lines(s.Diff(e)))
		}
	}
	printDamage(c, s)
	if more > 0 {
		c.Printf("  and %d more. To see all:\n    %s\n", more, u.line("--list --session "+s.ID, s.Head.Server))
	}
}

func eventText(e undo.Event) string {
	text := e.Path
	if len(e.Calls) > 0 {
		text += "  (call " + strings.Trim(strings.ReplaceAll(fmt.Sprint(e.Calls), " ", ", "), "[]") + ")"
	}
	if e.Others != nil {
		text += "  (changed by others meanwhile)"
	}
	if !e.Known {
		text += "  (what the server left is not known)"
	}
	if e.Before.Lost != "" {
		text += ": cannot be restored: " + e.Before.Lost
	}
	return text
}

func printDamage(c terminal.Console, s *undo.Session) {
	if s.Damaged {
		c.Printf("%s\n", c.Paint(terminal.Yellow, "Not everything is known of this session: its journal is damaged (more: mcp-jail help "+string(diagnostics.PageUndo)+")"))
	}
}
