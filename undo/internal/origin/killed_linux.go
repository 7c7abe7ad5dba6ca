package origin

import "github.com/mcp-jail/mcp-jail/undo/internal/journal"

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
