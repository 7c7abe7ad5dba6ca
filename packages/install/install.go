package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/jail"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Installer installs and pins packages.
type Installer struct {
	Store     store.Store
	LockFile  string
	Host      hostfs.Host
	Untrusted func(file string) string // why no npm, node or Python is run from a place outside of the working directory: see runtime.Finder
	Asked     string                   // the words after "mcp-jail install" for this line, for advice: a server's name, or "-- npx -y …"; "" if that is not known
	Own       bool                     // the line is of the user's own: its packages are fetched with the user's logins
	Scripts   bool                     // scripts of packages run, without a network: those that ran when a line was pinned do so in any case
	Limits    Limits                   // the zero Limits are the usual ones
	Waive     []policy.Axis            // of the server: see jail.Jail
	Waived    func(*confine.Plan)      // called with the plan of each jail that has gaps; may be nil
	NotUsed   func(line string)        // called with what of the user's configuration is not used, by name; may be nil
	Told      io.Writer                // what npm and the scripts print, without secrets; may be nil
	Progress  func(Progress)           // called a few times a second, in another goroutine; may be nil
}

// Result is a package that is installed and pinned.
type Result struct {
	Entry   *lockfile.Entry
	Before  *lockfile.Entry // the entry that was replaced; nil if there was none
	Fetched bool            // false: it was there already
	Refused []Refusal       // what the jails of the installation refused
	Skipped []string        // NAME@VERSION of the packages whose scripts did not run
}

// errOnWindows refuses to fetch where no jail holds npm, pip and uv.
var errOnWindows = errors.New("mcp-jail fetches no packages on Windows: there a line runs as it is given. In WSL 2 its package is fetched and pinned")

// Install installs the package of a line and pins it, unless the lock file and the store have it
// already. It installs an installed package again if its scripts were skipped and may run now, or
// if this machine has no Python for it any more. The error is a *ChangedError if the installed
// files are not the pinned ones. The error is a *MovedError if the fetched tree is not the pinned
// one; for npm, the Result then tells what was refused on the way.
func (i *Installer) Install(ctx context.Context, line *runline.Line) (*Result, error) {
	if r, err := i.ready(ctx, line); r != nil || err != nil {
		return r, err
	}
	stage, err := i.stage(ctx, line)
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	if r, err := i.ready(ctx, line); r != nil || err != nil { // another process was faster
		return r, err
	}
	pinned, err := i.pinned(line)
	if err != nil {
		return nil, err
	}
	return i.install(ctx, stage, line, pinned)
}

// Repair installs the pinned versions of a line's packages again. It replaces an installed tree
// that is not the pinned one. The error is a *MovedError if the registry does not give the pinned
// files any more. If nothing is pinned, Repair pins what it installs.
func (i *Installer) Repair(ctx context.Context, line *runline.Line) (*Result, error) {
	stage, err := i.stage(ctx, line)
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	pinned, err := i.pinned(line)
	if err != nil {
		return nil, err
	}
	return i.install(ctx, stage, line, pinned)
}

func (i *Installer) install(ctx context.Context, stage *store.Stage, line *runline.Line, pinned *lockfile.Entry) (*Result, error) {
	f, err := i.withScriptsOf(pinned).fetch(ctx, stage, line, pinned)
	if err != nil {
		return nil, err
	}
	r := &Result{Entry: f.entry, Before: pinned, Fetched: true, Refused: f.refused, Skipped: f.skipped}
	if pinned != nil {
		compared := line.Ecosystem() == runline.PyPI && pinned.Key == i.key(line) // the packages, by fetchPython
		if err := i.samePin(pinned, f.entry); err != nil && !compared {
			return r, err
		}
		f.entry.Key, f.entry.Pins, f.entry.Pinned = pinned.Key, pinned.Pins, pinned.Pinned
	}
	if err := f.sealed.Commit(); err != nil {
		return r, inStore(f.entry, err)
	}
	if err := i.pin(pinned, f.entry); err != nil {
		return r, err
	}
	i.tidy(stage)
	return r, nil
}

// keepStages is how long an interrupted installation keeps what it has fetched.
const keepStages = 7 * 24 * time.Hour

// tidy removes the stage, and the remains of earlier installations. A later installation removes
// those that cannot be removed now.
func (i *Installer) tidy(stage *store.Stage) {
	stage.Discard()
	i.Store.Sweep(keepStages)
}

// ready returns the package of a line if it is installed, and nil if it must be installed or
// installed again.
func (i *Installer) ready(ctx context.Context, line *runline.Line) (*Result, error) {
	pinned, err := i.pinned(line)
	if pinned == nil || err != nil {
		return nil, err
	}
	tree, err := i.Store.Open(installed.ID(pinned))
	if errors.Is(err, store.ErrNotInstalled) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	if err := tree.Check(pinned.Files); err != nil {
		return nil, &ChangedError{Entry: pinned, Asked: i.asked(pinned), Err: err}
	}
	if !i.runs(ctx, pinned) || i.addsScripts(pinned) {
		return nil, nil
	}
	return &Result{Entry: pinned}, nil
}

// stage takes the stage of a line, and waits as long as another installation has it. It fails if
// the lock file cannot be updated, so that nothing is fetched that could not be pinned.
func (i *Installer) stage(ctx context.Context, line *runline.Line) (*store.Stage, error) {
	if i.Host.OS == "windows" {
		return nil, errOnWindows
	}
	if err := lockfile.CanUpdate(i.LockFile); err != nil {
		return nil, err
	}
	forgetOldLogins(i)
	key := stageKey(line.Key())
	if !i.Own { // what a tool has left, such as a cache, counts for no other project, and not for the user's own line
		sum := sha256.Sum256([]byte(i.key(line).Spec))
		key += "-" + hex.EncodeToString(sum[:8])
	}
	for {
		stage, err := i.Store.Stage(key)
		if err != nil && !errors.Is(err, store.ErrBusy) {
			return nil, fmt.Errorf("%w. Packages are kept below %s; the variable XDG_DATA_HOME chooses another place", err, i.Store.Dir)
		}
		if err == nil {
			return stage, nil
		}
		i.progress(Progress{Step: Waiting})
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", line.Packages[0], store.ErrBusy)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

var notInKey = lazy.Regexp(`[^A-Za-z0-9._+@-]`)

func stageKey(text string) string { return "s-" + notInKey().ReplaceAllString(text, "_") }

// pinned returns the entry that counts for a line, or nil.
func (i *Installer) pinned(line *runline.Line) (*lockfile.Entry, error) {
	return installed.Pinned(i.LockFile, installed.Keys(line, &i.Host, i.Own))
}

// key returns the key of what is fetched for a line.
func (i *Installer) key(line *runline.Line) lockfile.Key {
	return installed.Keys(line, &i.Host, i.Own)[0]
}

// pin writes e to the lock file, in place of the entry before. It keeps the note, and the tool
// definitions that a session or the user has changed meanwhile; e then has them, too.
func (i *Installer) pin(before, e *lockfile.Entry) error {
	return lockfile.Update(i.LockFile, func(f *lockfile.File) error {
		now := f.Find(e.Key)
		if (now == nil) != (before == nil) || now != nil && (now.Tree != before.Tree || now.Files != before.Files) {
			return fmt.Errorf("%s was pinned by another process meanwhile: nothing was changed. Try again", e.Key)
		}
		merged := *e
		if now != nil {
			merged.Note, merged.Pins = now.Note, mergePins(before.Pins, now.Pins, e.Pins)
		}
		if err := f.Set(&merged); err != nil {
			return err
		}
		*e = merged
		return nil
	})
}

// mergePins returns for each name the tool definitions of own if they differ from those of before,
// and otherwise those of now.
func mergePins(before, now, own map[string]*toolpin.Pin) map[string]*toolpin.Pin {
	merged := maps.Clone(own)
	if merged == nil {
		merged = map[string]*toolpin.Pin{}
	}
	names := maps.Clone(before)
	if names == nil {
		names = map[string]*toolpin.Pin{}
	}
	maps.Copy(names, now)
	for name := range names {
		if !samePins(before[name], own[name]) {
			continue
		}
		delete(merged, name)
		if now[name] != nil {
			merged[name] = now[name]
		}
	}
	return merged
}

// samePins reports whether two pins say the same. nil is no pin.
func samePins(a, b *toolpin.Pin) bool {
	if a == nil || b == nil {
		return a == b
	}
	return len(toolpin.Compare(a, b)) == 0
}

func inStore(e *lockfile.Entry, err error) error {
	if errors.Is(err, store.ErrInUse) {
		return fmt.Errorf("%s@%s is to be replaced in the store and is %w: end that server and try again", e.Name, e.Version, store.ErrInUse)
	}
	return err
}

// A fetchJail is the jail of an installer, or of the scripts of packages.
type fetchJail struct{ jail.Jail }

// jail returns a jail whose HOME is below dir, the directory of a stage. It reaches nothing yet.
func (i *Installer) jail(dir, name string, path []string) *fetchJail {
	limits := policy.DefaultLimits
	limits.FileSizeMB = i.Limits.file()
	return &fetchJail{jail.Jail{Host: i.Host, Dir: dir, Name: name, Purpose: "the installation of a package", Path: path, Variables: map[string]string{}, Limits: limits, Waive: i.Waive, Waived: i.Waived}}
}
