package origin

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/undo/internal/journal"
	"github.com/mcp-jail/mcp-jail/undo/internal/object"
)

// Heartbeat is how long a session that was killed can have lived after its last sign.
const Heartbeat = journal.LastSweep + 200*time.Millisecond

// BelongsToOthers returns why what is at a path must not be replaced, or "" if the server or an
// undo left it there. foreign reports whether the reason is that others changed it after the server and its undos.
func (f *Finder) BelongsToOthers(c *journal.Change, now *object.State) (why string, foreign bool) {
	if c.Unsure && now.Kind != object.None {
		return "it is not known which call changed it last: " + journal.WhyDamaged, false
	}
	why = f.ChangedSince(c, now)
	made := c.Before.Kind == object.Dir && now.Kind == object.Dir && f.UndoLeft(c.Path, now) // by an interrupted undo
	if why == "" || made || f.ownChange(c, now) || f.wasSeen(c, now) {
		return "", false
	}
	// Later sessions may explain it: they are undone first, or were.
	switch id, known := f.laterChange(c, now); {
	case known && id == "":
		return "", false
	case known:
		return "it was changed by a later session (" + id + "): undo that one first", false
	}
	byCall, open := c.Later != 0 || c.Known && f.leftByLater(now) != 0, !c.Known && c.Running
	return why, !byCall && !open
}

// ChangedSince returns why what is at a path is not what the server left there, or "".
func (f *Finder) ChangedSince(c *journal.Change, now *object.State) string {
	switch {
	case now.Kind == object.None, f.history.IsLeft(c, now):
		return "" // what was removed cannot be overwritten
	case c.Later != 0:
		return fmt.Sprintf("it was changed by a later call (%d): undo that one first", c.Later)
	case c.Known && f.leftByLater(now) != 0:
		return fmt.Sprintf("it was changed by a later call (%d), by another name: undo that one first", f.leftByLater(now))
	case c.Known && c.After.Kind == object.None:
		return "it was made after the server had removed it"
	case c.Known && now.Kind == object.File && now.SameButTime(&c.After):
		return "it may have been changed after the server's last change: its inode was, as by a write, a new name or an attribute"
	case c.Known:
		return "it was changed after the server's last change"
	case c.Running:
		return "the server has it open for writing: try again when the call has ended"
	case f.history.Gap != "":
		return "it is not known what the server left there: " + f.history.Gap
	case f.clockWasSetBack(c, now):
		return "it is not known when it was changed: the clock was set back"
	case now.Ctime <= c.Alive+int64(Heartbeat):
		return ""
	}
	return "it was changed after the session was killed (at " + time.Unix(0, c.Alive).UTC().Format(time.DateTime) + " UTC)"
}

func (f *Finder) leftByLater(now *object.State) int {
	if l := f.history.LeftLater[now.ID]; l.Is(now) {
		return l.Call
	}
	return 0
}

// clockWasSetBack reports whether the clock shows a time from before the last sign of a session that
// was killed, or the inode of a file has one from before the session, though the session has not
// seen the file like that. The file may have been changed later.
func (f *Finder) clockWasSetBack(c *journal.Change, now *object.State) bool {
	if time.Now().UnixNano() < c.Alive-int64(Heartbeat) {
		return true
	}
	seen, known := f.history.First[now.ID]
	return now.Kind == object.File && now.Ctime < f.session.Started.UnixNano()-int64(Heartbeat) && !(known && seen.SameObject(now))
}

// wasSeen reports whether a path has what was there at another moment of the session, and was
// kept: the undo of a later call has put it back. The file may have been kept by another name.
func (f *Finder) wasSeen(c *journal.Change, now *object.State) bool {
	seen := c.Seen
	if c.Known && c.After.Kind == object.File && f.Is(now.ID, c.After.ID) {
		seen = slices.Concat(seen, f.history.Seen[c.After.ID])
	}
	return slices.ContainsFunc(seen, func(s object.State) bool {
		switch {
		case !s.IsRestored(now):
			return false
		case s.Kind == object.File && s.Data == object.NoData:
			return f.Is(now.ID, s.ID) && (now.SameObject(&s) || f.UndoLeft(c.Path, now))
		}
		return s.Kind != object.File || journal.SameContent(f.session, &s, c.Path)
	})
}

// ownChange reports whether an interrupted undo has put back attributes of a file, or some of
// them: those of the state wanted at the path, or those that the file had first under another name.
func (f *Finder) ownChange(c *journal.Change, now *object.State) bool {
	if now.Kind != object.File || !c.Known || c.Later != 0 || !f.UndoLeft(c.Path, now) {
		return false
	}
	want := f.history.Before(c)
	if f.Is(now.ID, want.ID) {
		left, ok := f.history.Left[want.ID] // at the path from which the undo moved the file back
		if want.IsRestored(now) || ok && now.Between(&left.State, &want) {
			return true
		}
	}
	if !f.Is(now.ID, c.After.ID) {
		return false
	}
	node, ok := f.history.First[c.After.ID]
	switch {
	case ok && node.IsRestored(now):
		return true
	case want.Kind != object.File && ok:
		want = node
	case want.Kind != object.File: // it has no attributes that a file could get
		want = c.After
	}
	return now.Between(&c.After, &want)
}

// settle is for a session that was killed. If the journal does not have what the session left at a
// path, settle takes what the next session found there, or what is there now, unless ChangedSince
// finds a reason against it. WriteSettled writes that to the journals, so that an undo that is
// interrupted can tell it from its own changes.
func (f *Finder) settle() {
	f.laterSessions()
	s, changes := f.session, map[string]*journal.Change{}
	for i := range f.history.Changes {
		changes[f.history.Changes[i].Path] = &f.history.Changes[i]
	}
	full := s.History(journal.Selection{})
	f.settled = map[int][]byte{}
	// The whole session counts, also if a call is selected: the records are of the session.
	for i := range full.Changes {
		c := &full.Changes[i]
		now, err := f.foundAfter(-1, c.Path)
		if c.Known || err != nil || f.ChangedSince(c, &now) != "" {
			continue
		}
		f.settled[c.Before.Jail] = (&journal.Record{Word: journal.WordNow, At: c.Alive, Path: c.Path, State: now}).Append(f.settled[c.Before.Jail])
		f.history.Left[now.ID] = journal.Left{State: now}
		if selected := changes[c.Path]; selected != nil {
			selected.Known, selected.After = true, now
		}
	}
	for i, at := range journal.LastSigns(s) {
		f.settled[i] = (&journal.Record{Word: journal.WordEnd, At: at}).Append(f.settled[i])
	}
}

// WriteSettled writes what settle found to the journals.
func (f *Finder) WriteSettled() error {
	for i := range f.settled {
		if err := journal.AppendTo(f.session, i, f.settled[i]); err != nil {
			return err
		}
	}
	return nil
}
