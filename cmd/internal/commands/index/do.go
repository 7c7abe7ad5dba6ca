package index

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Do removes everything that the removal lists. It refuses, and removes nothing, if a session has
// one of the servers, has used one since LookStored, or runs from one of the trees. If the pins cannot
// be removed, it ends there. A later error is about the parts that could not be removed; the rest
// is gone.
func (r *Removal) Do() error {
	var letGo []func()
	// Take all servers before anything goes: a refusal must leave everything.
	for _, s := range r.Servers {
		if !s.started {
			continue
		}
		d, err := records.Open(r.host, s.Name)
		if err != nil {
			return err
		}
		defer d.Close()
		unlock, free := d.Lock()
		if !free {
			return fmt.Errorf("nothing was removed: %s was started, or another mcp-jail removes it", show.Name(s.Called()))
		}
		defer unlock()
		letGo = append(letGo, func() { d.LetGo(unlock) })
		// A session may have come and gone between LookStored and the lock.
		now := &StoredServer{}
		if now.readTimes(d); now.Used.After(s.Used) {
			return fmt.Errorf("nothing was removed: %s was used in the meantime", show.Name(s.Called()))
		}
	}
	for _, t := range r.Trees {
		if session.PackageStore(r.host).InUse(t) {
			return &inUseError{t.ID.String()}
		}
	}
	if err := r.removePins(); err != nil {
		return err
	}
	errs := []error{r.removeTrees()}
	for _, f := range letGo {
		f()
	}
	for _, s := range r.Servers {
		if s.started {
			errs = append(errs, removeDir(r.host, s.Name), records.ForgetWrites(r.host, s.Name))
		}
	}
	if len(r.Leftovers) > 0 {
		session.PackageStore(r.host).Sweep(0)
	}
	return errors.Join(append(errs, emptyRemoved(r.host))...)
}

// removePins removes the entries from the lock file. An entry that was changed since LookStored stays.
func (r *Removal) removePins() error {
	if len(r.Pins) == 0 {
		return nil
	}
	remove := func(f *store.File) error {
		for _, e := range r.Pins {
			if now := f.Find(e.Key); now != nil && now.Tree == e.Tree && now.Files == e.Files {
				f.Remove(e.Key)
			}
		}
		return nil
	}
	return store.Update(session.LockFile(r.host), remove)
}

// removeTrees removes the trees, except those that a pin names now.
func (r *Removal) removeTrees() (err error) {
	if len(r.Trees) == 0 {
		return nil
	}
	lock, err := store.Load(session.LockFile(r.host))
	if err != nil {
		return err
	}
	for _, t := range r.Trees {
		// An installation may have pinned it since LookStored.
		if slices.ContainsFunc(lock.Entries(), func(e *store.Entry) bool { return isTreeOf(t, e) }) {
			continue
		}
		failed := session.PackageStore(r.host).Remove(t)
		switch {
		case errors.Is(failed, store.ErrInUse):
			err = errors.Join(err, fmt.Errorf("the files of %s stay, because a running server uses them. To remove them later:\n  mcp-jail status --remove --all", t.ID))
		case !errors.Is(failed, fs.ErrNotExist) && !errors.Is(failed, store.ErrNotInstalled):
			err = errors.Join(err, failed)
		}
	}
	return err
}

// removeDir moves the directory of a server aside in one step, and deletes it.
func removeDir(host hostfs.Host, server string) error {
	state, err := private.Open(host.StateDir, ".")
	if err != nil {
		return err
	}
	defer state.Close()
	removed, err := state.Make(removedDir)
	if err != nil {
		return err
	}
	defer removed.Close()
	at, err := removed.MakeTemp()
	if err != nil {
		return err
	}
	err = state.Rename(filepath.Join(records.ServersDir, server), filepath.Join(removedDir, at, server))
	return errors.Join(err, removed.RemoveAll(at))
}

// emptyRemoved deletes the directories that earlier removals moved aside and did not delete,
// because they failed or were killed.
func emptyRemoved(host hostfs.Host) error {
	state, err := private.Open(host.StateDir, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer state.Close()
	return state.RemoveAll(removedDir)
}
