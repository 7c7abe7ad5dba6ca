package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
)

// Update is what an update would change. Nothing has changed before Installer.Accept.
type Update struct {
	Old *store.Entry // nil if nothing is pinned
	// New has the tools that Old pins. A caller that has asked the new version for its tools
	// replaces them.
	New     *store.Entry
	Scripts []string // NAME@VERSION of the packages that have install scripts
	Refused []refusal

	// Store and LockFile have the new version and no other, for an installed.Finder that
	// starts it before it is accepted. They exist until Accept or Close.
	Store    store.Store
	LockFile string

	line    *runline.Line
	scripts bool // Accept runs Scripts; New says so already
	stage   *store.Stage
	sealed  *store.Sealed
	done    bool
}

// Update fetches the newest packages for a line beside the pinned ones. If the registry says that these
// are the newest, it fetches nothing, and New is Old. The caller gives the
// result to Accept or closes it. Until then no other installation of the package can begin.
func (i *Installer) Update(ctx context.Context, line *runline.Line) (*Update, error) {
	stage, err := i.stage(ctx, line)
	if err != nil {
		return nil, err
	}
	u, err := i.update(ctx, stage, line)
	if err != nil {
		stage.Close()
		return nil, err
	}
	return u, nil
}

func (i *Installer) update(ctx context.Context, stage *store.Stage, line *runline.Line) (*Update, error) {
	old, err := i.pinned(line)
	if err != nil {
		return nil, err
	}
	if old != nil && old.Key != i.key(line) {
		old = nil // a project's line leaves the user's own pin as it is
	}
	// No script runs before the user has agreed: Accept runs them. pip builds from sources what has no wheel, without
	// which there is nothing to agree to.
	scripts := i.withScriptsOf(old).Scripts
	without := *i
	without.Scripts = scripts && line.Ecosystem() == runline.PyPI
	if old != nil && !i.addsScripts(old) {
		without.known = old
	}
	f, err := without.fetch(ctx, stage, line, nil)
	if errors.Is(err, errKnown) {
		return &Update{Old: old, New: old, stage: stage}, nil
	}
	if err != nil {
		return nil, err
	}
	u := &Update{Old: old, New: f.entry, line: line, Refused: f.refused, Scripts: entryScripts(f.entry), Store: f.sealed.Store, LockFile: filepath.Join(stage.Dir, "update", store.FileName), stage: stage, sealed: f.sealed}
	if old != nil {
		u.New.Pins = maps.Clone(old.Pins)
	}
	if err := stage.Remove(filepath.Dir(u.LockFile)); err != nil {
		return nil, err
	}
	if err := store.Update(u.LockFile, func(file *store.File) error { return file.Set(u.New) }); err != nil {
		return nil, err
	}
	if scripts && !u.New.ScriptsRan && u.New.HasScripts() {
		u.scripts, u.New.ScriptsRan = true, true
		if old != nil && old.ScriptsRan && old.Tree == u.New.Tree {
			u.New.Files = old.Files // only the scripts would make others
		}
	}
	return u, nil
}

// RunsScripts reports whether Accept runs the scripts of the packages first.
func (u *Update) RunsScripts() bool { return u.scripts }

func entryScripts(e *store.Entry) (all []string) {
	list, _ := e.List()
	for _, p := range list {
		if p.Scripts {
			all = append(all, p.Name+"@"+p.Version)
		}
	}
	return all
}

// Changes returns what the update changes. There are none if the pinned packages are the
// newest.
func (u *Update) Changes() []string {
	if u.Old == nil {
		return []string{"it was not pinned yet"}
	}
	return store.Diff(u.Old, u.New)
}

// Accept makes an update the installed and pinned version. Scripts that the user has allowed run first: if one fails,
// what was pinned stays, and the update is gone. The old tree stays in the store, unless it is one of the same packages. An
// update that is not accepted because of another error can be accepted again.
func (i *Installer) Accept(ctx context.Context, u *Update) error {
	if u.scripts {
		with := *i
		with.Scripts = true
		f, err := with.fetch(ctx, u.stage, u.line, u.New)
		var moved *movedError
		if errors.As(err, &moved) || err == nil && f.entry.Tree != u.New.Tree {
			return fmt.Errorf("%s: the registry gives something else now than what was shown. Nothing was changed: update it again", u.New.Key)
		}
		if err != nil {
			return err
		}
		u.sealed, u.New.Files, u.Refused, u.scripts = f.sealed, f.entry.Files, f.refused, false
	}
	if err := u.sealed.Commit(); err != nil {
		return inStore(u.New, err)
	}
	if err := i.pin(u.Old, u.New); err != nil {
		return err
	}
	u.done = true
	i.tidy(u.stage)
	return nil
}

// Close gives an update up. The stage keeps the fetched files for the next installation, unless the
// update changes nothing. After Accept it does nothing.
func (u *Update) Close() error {
	if !u.done && u.Old != nil && len(u.Changes()) == 0 {
		u.done = true
		return u.stage.Discard()
	}
	u.stage.Close()
	return nil
}
