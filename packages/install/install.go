// Package install fetches the packages that launchers such as npx are asked for, and pins
// them. Only the companion program uses it.
//
//	i := &install.Installer{Store: ..., LockFile: ..., Host: host}
//	r, err := i.Install(ctx, &line) // unless it is installed
//	u, err := i.Update(ctx, &line)  // the newest, beside the pinned one
//	err = i.Accept(ctx, u)          // after the user has agreed
//	r, err = i.Repair(ctx, &line)   // the pinned one again
//
// npm itself resolves, fetches and unpacks, in one run of node with npm's own program: the kernel refuses
// every further start of a program. It runs in a jail that reaches the registries of the user's
// configuration (package sources) and no other host, with a HOME of its own, without a workspace,
// and without the user's variables. If Installer.Own is set, it reads the logins of those registries from
// its stdin.
//
// npm's own lock file, whole, becomes Entry.Lock. A pinned line is installed from it by npm ci.
//
// Scripts of packages run only if Installer.Scripts is set, or if they ran when the line was
// pinned: each package's in a jail of its own without a network, without credentials and without npm's cache. The Result lists the
// attempts that the jail refused, with the package that made them.
//
// An installation works in a stage of package store. If it is interrupted, or the registry does not answer, the
// next one goes on with the archives that this one has fetched. Nothing outside of the stage changes before the
// tree is complete, and before it is known that it is the pinned one.
//
// Packages of a Python index are resolved and fetched by uv if the user has it, and otherwise by
// the pip of the user's Python. The jail reaches the indexes of the user's configuration. Wheels are
// installed, which runs none of their code: the kernel starts nothing after pip, and after uv only the
// Python that it asks about itself. pip builds a source distribution only if scripts may run, in a jail
// of its own without a network. With uv, none is built. The modules are compiled when they are
// installed, because a server cannot write beside them. On Windows nothing is fetched.
//
// # Limits
//
//   - npm 7 or newer.
//   - A jail with namespaces does not record refused reads: a script that looks for keys finds none,
//     and is not named for it.
//   - The egress of the jail uses the proxy of npm's configuration, which becomes a variable of
//     this process. A proxy that needs another form than a URL is not used.
//   - uv is tested with a stand-in only. With pip, all indexes count alike, also those that uv would
//     ask one after the other.
//   - On a system with musl, pip starts the loader to learn its version, and fails.
//   - An update downloads wheels with pip before 23.2, and of an index that does not have their metadata apart.
//   - Packages from git are not fetched: the jail reaches registries only.
//   - Without a network nothing is installed, also if the user's cache has everything.
//   - A registry has to name a SHA-256 or stronger sum of each archive of npm.
package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/sources"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Installer installs and pins packages.
type Installer struct {
	Store     store.Store
	LockFile  string
	Host      hostfs.Host
	Untrusted func(file string) string // why no npm, node or Python is run from a place outside of the working directory: see installed.InterpreterFinder
	Asked     string                   // the words after "mcp-jail install" for this line, for advice: a server's name, or "-- npx -y …"; "" if that is not known
	Own       bool                     // the line is of the user's own: its packages are fetched with the user's logins
	Scripts   bool                     // scripts of packages run, without a network: those that ran when a line was pinned do so in any case
	Limits    limits                   // the zero Limits are the usual ones
	Waive     []policy.Axis            // of the server: see installed.Jail
	Waived    func(*confine.Plan)      // called with the plan of each jail that has gaps; may be nil
	Note      func(line string)        // called with what the user should know of how his configuration is used; may be nil
	Told      io.Writer                // what npm and the scripts print, without secrets; may be nil
	Progress  func(Progress)           // called a few times a second, in another goroutine; may be nil

	known *store.Entry // whose packages fetch does not fetch again; may be nil
}

// Result is a package that is installed and pinned.
type Result struct {
	Entry   *store.Entry
	Fetched bool      // false: it was there already
	Refused []refusal // what the jails of the installation refused
	Skipped []string  // NAME@VERSION of the packages whose scripts did not run
}

// errOnWindows refuses to fetch where no jail holds npm, pip and uv.
var errOnWindows = errors.New("mcp-jail fetches no packages on Windows: there a line runs as it is given. In WSL 2 its package is fetched and pinned")

// Install installs the package of a line and pins it, unless the lock file and the store have it
// already. It installs an installed package again if its scripts were skipped and may run now. The error is a *ChangedError if the installed
// files are not the pinned ones. The error is a *movedError if the fetched tree is not the pinned
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
// that is not the pinned one. The error is a *movedError if the registry does not give the pinned
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

func (i *Installer) install(ctx context.Context, stage *store.Stage, line *runline.Line, pinned *store.Entry) (*Result, error) {
	f, err := i.withScriptsOf(pinned).fetch(ctx, stage, line, pinned)
	if err != nil {
		return nil, err
	}
	r := &Result{Entry: f.entry, Fetched: true, Refused: f.refused, Skipped: f.skipped}
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
		return nil, &ChangedError{Asked: i.asked(pinned), Err: err}
	}
	if i.addsScripts(pinned) {
		return nil, nil
	}
	if err := i.checkPython(ctx, pinned); err != nil {
		return nil, err
	}
	return &Result{Entry: pinned}, nil
}

// stage takes the stage of a line, and waits as long as another installation has it. It fails if
// the lock file cannot be updated, so that nothing is fetched that could not be pinned.
func (i *Installer) stage(ctx context.Context, line *runline.Line) (*store.Stage, error) {
	if i.Host.OS == "windows" {
		return nil, errOnWindows
	}
	if err := store.CanUpdate(i.LockFile); err != nil {
		return nil, err
	}
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
		i.progress(Progress{Step: waiting})
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", line.Packages[0], store.ErrBusy)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

var notInKey = show.Pattern(`[^A-Za-z0-9._+@-]`)

func stageKey(text string) string { return "s-" + notInKey().ReplaceAllString(text, "_") }

// pinned returns the entry that counts for a line, or nil.
func (i *Installer) pinned(line *runline.Line) (*store.Entry, error) {
	return installed.Pinned(i.LockFile, installed.Keys(line, &i.Host, i.Own))
}

// key returns the key of what is fetched for a line.
func (i *Installer) key(line *runline.Line) store.Key {
	return installed.Keys(line, &i.Host, i.Own)[0]
}

// pin writes e to the lock file, in place of the entry before. What is for a line of the user's own also takes the place
// of what projects have for that line. It is an error if the entry, or its tool
// definitions, have changed meanwhile.
func (i *Installer) pin(before, e *store.Entry) error {
	return store.Update(i.LockFile, func(f *store.File) error {
		now := f.Find(e.Key)
		if (now == nil) != (before == nil) || now != nil && (now.Tree != before.Tree || now.Files != before.Files || !reflect.DeepEqual(now.Pins, before.Pins)) {
			return fmt.Errorf("%s was pinned by another process meanwhile: nothing was changed. Try again", e.Key)
		}
		for _, other := range f.Entries() { // otherwise the next start of a project's line would take its own pin again
			if i.Own && other.Ecosystem == e.Ecosystem && strings.HasPrefix(other.Spec, e.Spec+installed.OfProject) {
				f.Remove(other.Key)
			}
		}
		return f.Set(e)
	})
}

func inStore(e *store.Entry, err error) error {
	if errors.Is(err, store.ErrInUse) {
		return fmt.Errorf("%s@%s is to be replaced in the store and is %w: end that server and try again", e.Name, e.Version, store.ErrInUse)
	}
	return err
}

// A fetchJail is the jail of an installer, or of the scripts of packages.
type fetchJail struct{ installed.Jail }

// jail returns a jail whose HOME is below dir, the directory of a stage. It reaches nothing yet.
func (i *Installer) jail(dir, name string, path []string) *fetchJail {
	limits := policy.DefaultLimits
	limits.FileSizeMB = i.Limits.file()
	return &fetchJail{installed.Jail{Host: i.Host, Dir: dir, Name: name, Purpose: "the installation of a package", Path: path, Variables: map[string]string{}, Limits: limits, Waive: i.Waive, Waived: i.Waived}}
}

func (i *Installer) note(line string) {
	if i.Note != nil {
		i.Note(line)
	}
}

// useSources names what the user's configuration says and is not used, and makes its proxy that of this
// process, whose egress connects for the jail. A variable that is set already wins.
func (i *Installer) useSources(from *sources.Sources) error {
	if len(from.NotUsed) > 0 {
		i.note("not used of the configuration of " + string(from.Tool) + ": " + strings.Join(from.NotUsed, ", "))
	}
	for name, value := range from.Proxy {
		if os.Getenv(name) != "" || os.Getenv(strings.ToLower(name)) != "" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// withScriptsOf returns the installer for a line that was pinned before: if scripts ran then, the user has allowed
// them, and they run again.
func (i *Installer) withScriptsOf(before *store.Entry) *Installer {
	if before == nil || !before.ScriptsRan {
		return i
	}
	with := *i
	with.Scripts = true
	return &with
}

// addsScripts reports whether an installation is to run the scripts that were skipped when an
// entry was pinned. The packages stay the same; their files do not.
func (i *Installer) addsScripts(e *store.Entry) bool {
	return i.Scripts && !e.ScriptsRan && e.HasScripts()
}

func (i *Installer) samePin(pinned, e *store.Entry) error {
	if pinned.Tree == e.Tree && (pinned.Files == e.Files || i.addsScripts(pinned)) {
		return nil
	}
	return &movedError{Pinned: pinned, Found: e, LockFile: i.LockFile, Asked: i.asked(pinned)}
}

// movedError reports that the tree that was fetched is not the one that the lock file pins, or that the registry
// does not give that one any more.
type movedError struct {
	Pinned   *store.Entry
	Found    *store.Entry // nil if Err says why nothing was found
	Err      error
	LockFile string
	Asked    string // see Installer
}

// maxChanges bounds the changes that an error names.
const maxChanges = 10

func (e *movedError) Error() string {
	text := fmt.Sprintf("%s is pinned by %s, and the registry gives something else now:", e.Pinned.Key, e.LockFile)
	switch {
	case e.Found == nil:
		text += " " + e.Err.Error()
	case e.Pinned.Tree == e.Found.Tree:
		text = fmt.Sprintf("%s is pinned by %s. Its packages are the same, and their files are not: %s", e.Pinned.Key, e.LockFile, e.why())
	default:
		for n, c := range store.Diff(e.Pinned, e.Found) {
			if n == maxChanges {
				text += "\n  …"
				break
			}
			text += "\n  " + c
		}
	}
	return text + "\nNothing was changed. To see and accept it: mcp-jail install --update " + e.Asked
}

func (e *movedError) Unwrap() error { return e.Err }

func (e *movedError) why() string {
	if e.Pinned.ScriptsRan {
		return "install scripts ran, and what they make may differ from run to run."
	}
	return "the same archives were unpacked differently, for example by another version of npm."
}

// ChangedError reports that the installed files of a package are not those that are pinned.
type ChangedError struct {
	Asked string // see Installer
	Err   error  // usually a *store.ChangedError
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s. To install the pinned ones again: mcp-jail install %s. To accept what the registry has now: mcp-jail install --update %s", e.Err, e.Asked, e.Asked)
}

func (e *ChangedError) Unwrap() error { return e.Err }

func (i *Installer) asked(e *store.Entry) string {
	spec, _, _ := strings.Cut(e.Spec, " --") // after it, the key says where the package comes from
	switch {
	case i.Asked != "":
		return i.Asked
	case e.Ecosystem == store.PyPI:
		return "-- uvx " + show.Spelled([]string{spec})
	}
	return "-- npx -y " + show.Spelled([]string{spec})
}
