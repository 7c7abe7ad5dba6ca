package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/mcp-jail/mcp-jail/packages/launcher"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Installer installs and pins packages.
type Installer struct {
	Store    store.Store
	LockFile string
	Host     hostfs.Host
	Scripts  bool           // scripts of packages run, without a network
	Told     io.Writer      // what the installer prints
	Progress func(Progress) // called a few times a second; may be nil
}

// Progress is how far an installation is.
type Progress struct {
	Step  Step
	Files int   // unpacked so far
	Bytes int64 // fetched and unpacked so far
}

// Step is what an installation does.
type Step string

const (
	Waiting  Step = "waiting"  // for another installation of the same package
	Fetching Step = "fetching" // resolving, fetching and unpacking
	Scripts  Step = "scripts"  // running the scripts of packages
	Sealing  Step = "sealing"  // hashing the files and moving them to their place
)

// Result is a package that is installed and pinned.
type Result struct {
	Entry   *lockfile.Entry
	Before  *lockfile.Entry // the entry that was replaced; nil if there was none
	Fetched bool            // false: it was there already
	Refused []policy.Denial // what the jail of the installation refused
	Skipped []string        // packages whose scripts did not run
}

// Install installs the package of a line and pins it, unless the lock file and the store have
// it already.
func (i *Installer) Install(ctx context.Context, line *launcher.Line) (*Result, error) {
	key := installed.Key(line, i.Host.Dir)
	stage, err := i.stage(ctx, line)
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	pinned, err := i.pinned(key)
	if err != nil {
		return nil, err
	}
	if pinned != nil {
		if tree, err := i.Store.Open(installed.ID(pinned)); err == nil {
			tree.Close()
			if i.runs(ctx, pinned) {
				return &Result{Entry: pinned}, nil
			}
		}
	}
	r, err := i.fetch(ctx, stage, line, pinned)
	if err != nil {
		return nil, err
	}
	if pinned != nil {
		if err := samePin(pinned, r.Entry, i.LockFile); err != nil {
			return nil, err
		}
		r.Entry.Pins, r.Entry.Note, r.Entry.Pinned = pinned.Pins, pinned.Note, pinned.Pinned
	}
	r.Before = pinned
	if err := i.pin(r.Entry); err != nil {
		return nil, err
	}
	return r, stage.Discard() // what it fetched is in the store now
}

// stage takes the stage of a line, and waits as long as another installation has it.
func (i *Installer) stage(ctx context.Context, line *launcher.Line) (*store.Stage, error) {
	key := stageKey(line.Key(i.Host.Dir))
	for {
		stage, err := i.Store.Stage(key)
		if !errors.Is(err, store.ErrBusy) {
			return stage, err
		}
		i.progress(Progress{Step: Waiting})
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", line.Packages[0], store.ErrBusy)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

var notInKey = regexp.MustCompile(`[^A-Za-z0-9._+@-]`)

// stageKey returns a text as the name of a stage.
func stageKey(text string) string { return "s-" + notInKey.ReplaceAllString(text, "_") }

func (i *Installer) progress(p Progress) {
	if i.Progress != nil {
		i.Progress(p)
	}
}

// pinned returns the entry of a key, or nil.
func (i *Installer) pinned(key lockfile.Key) (*lockfile.Entry, error) {
	file, err := lockfile.Load(i.LockFile)
	if err != nil {
		return nil, err
	}
	return file.Find(key), nil
}

// pin writes an entry to the lock file.
func (i *Installer) pin(e *lockfile.Entry) error {
	return lockfile.Update(i.LockFile, func(f *lockfile.File) error {
		f.Set(e)
		return nil
	})
}

// samePin returns an error if a package that was installed again is not the pinned one.
func samePin(pinned, e *lockfile.Entry, file string) error {
	if pinned.Ecosystem == lockfile.PyPI || pinned.Tree == e.Tree && pinned.Files == e.Files { // of PyPI, entry has compared the packages
		return nil
	}
	return &MovedError{Pinned: pinned, Found: e, LockFile: file}
}

// MovedError reports that what the registry gives today is not what the lock file pins.
type MovedError struct {
	Pinned, Found *lockfile.Entry
	LockFile      string
}

func (e *MovedError) Error() string {
	text := fmt.Sprintf("%s is pinned by %s, and the registry gives something else now:", e.Pinned.Key, e.LockFile)
	for n, c := range lockfile.Diff(e.Pinned, e.Found) {
		if n == 10 {
			text += "\n  …"
			break
		}
		text += "\n  " + c.Text
	}
	return text + "\nNothing was changed. To accept it: mcp-jail install --update"
}

// measure returns the number of files below a directory and their bytes.
func measure(dir string) (files int, bytes int64) {
	filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			files++
			bytes += info.Size()
		}
		return nil
	})
	return files, bytes
}

// report calls progress until the returned function is called.
func (i *Installer) report(step Step, dir string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			p := Progress{Step: step}
			if dir != "" {
				p.Files, p.Bytes = measure(dir)
			}
			i.progress(p)
			select {
			case <-done:
				return
			case <-time.After(250 * time.Millisecond):
			}
		}
	}()
	return func() { close(done); <-ended }
}
