package undo

import (
	"errors"
	"os"
)

// settle is for a session that was killed. Where the journal does not say what the session left at
// a path, settle takes what the next session found there, or what stands there now, unless changedSince speaks against it. Run writes
// that to the journals, so that an undo that is interrupted can tell it from its own changes.
func (r *Restorer) settle() {
	r.laterSessions()
	s, changes := r.Session, map[string]*Change{}
	for i := range r.history.Changes {
		changes[r.history.Changes[i].Path] = &r.history.Changes[i]
	}
	full := s.History(Selection{})
	r.settled = map[int][]byte{}
	for i := range full.Changes {
		c := &full.Changes[i]
		now, err := r.foundAfter(-1, c.Path)
		if c.Known || err != nil || r.changedSince(c, &now) != "" {
			continue
		}
		r.settled[c.Before.Jail] = (&Record{word: wordNow, At: c.Alive, Path: c.Path, State: now}).append(r.settled[c.Before.Jail])
		r.history.left[now.ID] = left{State: now}
		if one := changes[c.Path]; one != nil {
			one.Known, one.After = true, now
		}
	}
	for i, j := range s.jails {
		r.settled[i] = (&Record{word: wordEnd, At: j.alive}).append(r.settled[i])
	}
}

// writeSettled writes what settle found to the journals.
func (r *Restorer) writeSettled() error {
	for i := range r.settled {
		journal, err := r.Session.open(i, journalSuffix, os.O_WRONLY|os.O_APPEND)
		if err == nil {
			err = errors.Join(appendLines(journal, r.settled[i]), journal.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
