package undo

import (
	"math"

	"golang.org/x/sys/unix"
)

// Run carries out the steps. It keeps what they replace in a session of its own in the store, so
// the undo can be undone. It returns the name of that session, or "" if nothing was changed.
func (r *Restorer) Run(store Store) (out []Outcome, session string, err error) {
	if err := r.origin.WriteSettled(); err != nil {
		return nil, "", err
	}
	writer, err := store.Begin(Head{Server: r.Session.Head.Server, Undoes: r.Session.ID})
	if err != nil {
		return nil, "", err
	}
	defer writer.Close()
	files, err := writer.Jail(r.Session.Head.Roots)
	if err != nil {
		return nil, "", err
	}
	self, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		files.Finish()
		return nil, "", err
	}
	defer unix.Close(self)
	out = r.Do(&Keeper{Journal: int(files.Journal.Fd()), Data: int(files.Data.Fd()), SelfFD: self, FileBytes: math.MaxInt64 / 4, TotalBytes: math.MaxInt64 / 2})
	if files.Finish() {
		session = writer.ID()
	}
	return out, session, nil
}
