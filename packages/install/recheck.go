package install

import (
	"context"
	"errors"
	"slices"

	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/runline"
)

// Recheck asks the registry for the pinned packages of a line, if npm's cache may have decided what
// is pinned, and notes in the lock file whether they are the same. It changes no installed file: a
// server may run from them.
func (i *Installer) Recheck(ctx context.Context, line *runline.Line) error {
	key := installed.Key(line, &i.Host)
	stage, err := i.stage(ctx, line)
	if err != nil {
		return err
	}
	defer stage.Close()
	pinned, err := i.pinned(key)
	if err != nil || pinned == nil || pinned.Proven() {
		return err
	}
	checked := *pinned
	checked.Source = lockfile.Disputed
	f, err := i.fetch(ctx, stage, line, pinned, false)
	var failed *FetchError
	switch {
	case errors.As(err, &failed) && (failed.Code == "ETARGET" || failed.Code == "E404"): // it has no such version
	case err != nil:
		return err
	case sameArchives(pinned, f.entry):
		checked.Source = lockfile.FromRegistry
	}
	if err := i.pin(pinned, &checked); err != nil {
		return err
	}
	i.tidy(stage)
	return nil
}

// sameArchives reports whether two entries have the same packages. Where an integrity names each
// archive, their files may have been unpacked differently.
func sameArchives(pinned, e *lockfile.Entry) bool {
	named := !slices.ContainsFunc(e.Packages, func(p lockfile.Package) bool { return p.Integrity == "" })
	return pinned.Tree == e.Tree && (named || pinned.Files == e.Files)
}
