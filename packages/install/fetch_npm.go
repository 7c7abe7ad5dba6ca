package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/sources"
	"github.com/mcp-jail/mcp-jail/packages/store"
)

// fetched is a package with its tree, complete in a stage.
type fetched struct {
	entry   *store.Entry
	sealed  *store.Sealed
	refused []refusal
	skipped []string
}

// npmRun is what the steps of one installation share.
type npmRun struct {
	installer *Installer
	line      *runline.Line
	stage     *store.Stage
	npm       []string // what starts it
	from      *sources.Sources
	jail      *fetchJail
	redactor  *diagnostics.Redactor
	work      string // the project in which npm works
	began     time.Time
}

// fetch lets npm, uv or pip install the packages of a line, and seals the tree in the stage. If
// pinned is not nil, it asks for the pinned versions. What was fetched stays in the stage if the installation was
// interrupted or the registry did not answer. After any other failure it is removed: it may be the cause.
func (i *Installer) fetch(ctx context.Context, stage *store.Stage, line *runline.Line, pinned *store.Entry) (f *fetched, err error) {
	if line.Ecosystem() == runline.PyPI {
		f, err = i.fetchPython(ctx, stage, line, pinned)
	} else {
		f, err = i.fetchNPM(ctx, stage, line, pinned)
	}
	if isFull(err) || isWrong(err) {
		stage.Discard() // a later installation removes what cannot be removed now
	}
	return f, err
}

// isWrong reports whether npm, pip or uv failed for another reason than a registry that does not answer.
func isWrong(err error) bool {
	var ofNPM *FetchError
	var ofPython *pythonError
	switch {
	case errors.As(err, &ofNPM):
		return known[ofNPM.Code] != unreachable
	case errors.As(err, &ofPython):
		return !noConnection().MatchString(ofPython.Output + ofPython.log)
	}
	return false
}

// isFull reports whether an installation failed because the disk is full, or the user's quota used up.
func isFull(err error) bool {
	var ofNPM *FetchError
	var ofPython *pythonError
	switch {
	case errors.As(err, &ofNPM):
		return ofNPM.Code == "ENOSPC" || ofNPM.Code == "EDQUOT"
	case errors.As(err, &ofPython):
		return diskFull().MatchString(ofPython.Output + ofPython.log)
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func (i *Installer) fetchNPM(ctx context.Context, stage *store.Stage, line *runline.Line, pinned *store.Entry) (*fetched, error) {
	r, err := i.newRun(ctx, stage, line)
	if err != nil {
		return nil, err
	}
	var refused []refusal
	if i.known != nil {
		err = r.look(ctx)
	}
	if err == nil {
		refused, err = r.fetch(ctx, pinned)
	}
	var failed *FetchError
	if errors.As(err, &failed) && !i.Own {
		failed.Asked = i.asked(&store.Entry{Key: installed.Key(line, &i.Host)})
	}
	if pinned != nil && errors.As(err, &failed) && slices.Contains([]string{"EINTEGRITY", "ETARGET", "E404"}, failed.Code) {
		err = &movedError{Pinned: pinned, Err: err, LockFile: i.LockFile, Asked: i.asked(pinned)}
	}
	if err != nil {
		return nil, err
	}
	f, err := r.collect(ctx, i.Scripts)
	if f != nil {
		f.refused = append(refused, f.refused...)
	}
	return f, err
}

func (i *Installer) newRun(ctx context.Context, stage *store.Stage, line *runline.Line) (*npmRun, error) {
	r := &npmRun{installer: i, line: line, stage: stage, began: time.Now()}
	paths := i.searchPath()
	program, err := i.findNPM(ctx, paths)
	if err != nil {
		return nil, err
	}
	r.npm = program.argv()
	// A server that may write one of these files would choose what is installed.
	believe := func(file string) error { return i.believe("npm's configuration", file) }
	r.from, err = sources.Reader{Host: &i.Host, Logins: i.Own, Believe: believe, Prefix: program.prefix}.Read(sources.NPM)
	if err != nil {
		return nil, err
	}
	if err := i.useSources(r.from); err != nil {
		return nil, err
	}
	r.redactor = diagnostics.NewRedactor(r.from.Secrets())
	r.jail = i.jail(stage.Dir, "installer", paths)
	r.jail.Registries, r.jail.Once = r.from.Registries(), true // npm starts nothing but itself
	r.jail.Readable = r.from.Certificates
	r.work = filepath.Join(r.jail.Home(), "work")
	if err := stage.Root().MkdirAll(stage.Below(r.cache()), 0o700); err != nil {
		return nil, fmt.Errorf("the store of packages cannot be written: %w", err)
	}
	for name, value := range ownSettings(filepath.Dir(r.cache())) {
		r.jail.set(name, value)
	}
	return r, nil
}

// cache returns the cache of the npm in the jail, which has what an interrupted installation has fetched.
func (r *npmRun) cache() string { return filepath.Join(r.jail.Home(), "fetched", "_cacache") }

// fetch lets npm resolve, fetch and unpack the packages of the line or, if pinned has a lock file of npm, fetch
// and unpack exactly those that it names.
func (r *npmRun) fetch(ctx context.Context, pinned *store.Entry, options ...string) (refused []refusal, err error) {
	// Of an interrupted installation only the archives count, which npm finds by their hashes. The index has what
	// the registry said at that time.
	for _, dir := range []string{r.work, filepath.Join(r.stage.Dir, "servers", scriptsName), filepath.Join(r.cache(), "tmp"), filepath.Join(r.cache(), "index-v5")} {
		if err := r.stage.Remove(dir); err != nil {
			return nil, err
		}
	}
	if err := r.stage.Root().Mkdir(r.stage.Below(r.work), 0o700); err != nil {
		return nil, err
	}
	manifest, command := []byte("{}"), slices.Concat([]string{"install", "--prefix", r.work}, options, []string{"--"})
	for _, p := range r.line.Packages {
		command = append(command, p.Raw)
	}
	if pinned != nil && pinned.Lock != nil {
		if manifest, err = npm.Manifest(pinned.Lock); err == nil {
			err = r.stage.Root().WriteFile(r.stage.Below(r.lockFile()), pinned.Lock, 0o600)
		}
		if err != nil {
			return nil, err
		}
		command = []string{"ci", "--prefix", r.work}
		r.jail.set("before", "null") // the age of the versions was looked at when they were pinned
	}
	if err := r.stage.Root().WriteFile(r.stage.Below(r.manifest()), manifest, 0o600); err != nil {
		return nil, err
	}
	w := &watch{installer: r.installer, stage: r.stage, step: fetching, work: r.work, cache: r.cache(), pkg: r.line.Packages[0].String()}
	if options != nil {
		w.step = looking
	}
	variables, input := r.from.Written(r.jail.Home())
	maps.Copy(r.jail.Variables, variables)
	r.jail.Input = input
	if refused, err = r.runNPM(ctx, r.jail, w, "", command...); err == nil {
		err = r.makeLean(ctx, w)
	}
	return refused, err
}

// errKnown is the error of fetch if the newest packages are the known ones.
var errKnown = errors.New("the registry has nothing newer")

// look has npm resolve the line by the registry's metadata, without an archive. The error is errKnown if nothing
// is newer.
func (r *npmRun) look(ctx context.Context) error {
	if _, err := r.fetch(ctx, nil, "--package-lock-only"); err != nil {
		return err
	}
	lock, err := r.stage.Root().ReadFile(r.stage.Below(r.lockFile()))
	if err != nil {
		return err
	}
	// What cannot be read here is fetched, and then it is an error with its reason.
	if packages, err := npm.ReadLock(lock); err == nil && npm.Digest(packages) == r.installer.known.Tree {
		return errKnown
	}
	return nil
}

// maxLock bounds the lock file of one package: each start of every package reads past it.
const maxLock = 2 << 20

// makeLean makes npm's lock file one from which npm ci can restore the tree, on another machine, too. If the tree has
// more than npm ci would put there, npm makes it again.
func (r *npmRun) makeLean(ctx context.Context, w *watch) error {
	lock, err := r.stage.Root().ReadFile(r.stage.Below(r.lockFile()))
	if err != nil {
		return fmt.Errorf("npm wrote no lock file: %w", err)
	}
	lean, extraneous, err := npm.Lean(lock)
	switch {
	case err != nil:
		return err
	case len(lean) > maxLock:
		return fmt.Errorf("%s was not installed: what npm says of its packages has %d bytes, and the lock file takes %d", w.pkg, len(lean), maxLock)
	}
	if err := r.stage.Root().WriteFile(r.stage.Below(r.lockFile()), lean, 0o600); err != nil || !extraneous {
		return err
	}
	_, err = r.runNPM(ctx, r.jail, w, "", "ci", "--prefix", r.work)
	return err
}

func (r *npmRun) manifest() string { return filepath.Join(r.work, "package.json") }
func (r *npmRun) lockFile() string { return filepath.Join(r.work, "package-lock.json") }

// runNPM runs npm in a jail. script is the package whose scripts run, or "". Such a jail has no
// credentials. So none are looked for in what it prints: the time of that would tell the scripts of
// them.
func (r *npmRun) runNPM(ctx context.Context, j *fetchJail, w *watch, script string, args ...string) ([]refusal, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.tooLarge = cancel
	stop := w.run()
	tail := diagnostics.NewTail(nil)
	redactor := r.redactor
	if script != "" {
		redactor = nil
	}
	out := diagnostics.NewStderrFilter(io.MultiWriter(tail, r.installer.told()), redactor, nil)
	exit, denials, err := j.Run(ctx, out, slices.Concat(r.npm, args)...)
	stop()
	out.Flush()
	refused := refusals("npm", script, redactor.RedactDenials(denials))
	// The watch cancels with a tooLargeError, the user with another cause.
	if cause := context.Cause(ctx); cause != nil {
		var large *tooLargeError
		if errors.As(cause, &large) {
			return refused, large
		}
		return refused, fmt.Errorf("the installation of %s was stopped: %w. What was downloaded is kept, and the next try goes on with it", w.pkg, cause)
	}
	if err != nil || exit.Code == 0 {
		return refused, err
	}
	failed := &FetchError{Package: w.pkg, Script: script, Status: exit.Code, Output: tail.Lines(tail.LineCount()), Refused: refused, Registry: r.hosts()}
	failed.Code = codeOf(failed.Output)
	if failed.Code == "EFBIG" || exit.Code == sigXFSZ {
		return refused, &tooLargeError{Package: w.pkg, File: true, MB: j.Limits.FileSizeMB}
	}
	return refused, failed
}

// sigXFSZ is the status of a program that SIGXFSZ ended, because it made a file larger than its
// limit.
const sigXFSZ = 128 + 25

func (i *Installer) told() io.Writer {
	if i.Told == nil {
		return io.Discard
	}
	return i.Told
}

func (j *fetchJail) set(name, value string) {
	j.Variables["npm_config_"+strings.ReplaceAll(name, "-", "_")] = value
}

// ownSettings returns the settings of every npm in a jail. runScripts replaces some of them.
func ownSettings(cache string) map[string]string {
	const nothing = "/dev/null"
	return map[string]string{
		"cache": cache, "audit": "false", "fund": "false", "update-notifier": "false", "ignore-scripts": "true", "logs-max": "0",
		"allow-git": "none", "fetch-retries": "1", "fetch-retry-mintimeout": "1000", "fetch-retry-maxtimeout": "5000", "progress": "false", "loglevel": "notice",
		"omit-lockfile-registry-resolved": "true", "save-exact": "true", "install-links": "true", "userconfig": nothing, "globalconfig": filepath.Join(nothing, "none"),
	}
}

func (r *npmRun) hosts() (hosts []string) {
	for _, u := range r.from.Registries() {
		hosts = append(hosts, u.Host)
	}
	return hosts
}

// scriptsName is the name of the jails in which scripts run. Their HOME is another one than
// that of the npm that fetches: no script reads or changes npm's cache.
const scriptsName = "scripts"

// runScripts runs the scripts of packages, those of each package in a jail of its own, which
// has neither a network nor credentials. The tree is moved to the HOME of that jail.
func (r *npmRun) runScripts(ctx context.Context, packages []npm.Package) (refused []refusal, err error) {
	j := r.installer.jail(r.jail.Dir, scriptsName, r.jail.Path)
	j.Watched = true
	work := filepath.Join(j.Home(), "work")
	root, below := r.stage.Root(), r.stage.Below
	if err := root.MkdirAll(below(j.Home()), 0o700); err != nil {
		return nil, err
	}
	if err := root.Rename(below(r.work), below(work)); err != nil {
		return nil, err
	}
	r.work = work
	settings := ownSettings(filepath.Join(j.Home(), "cache"))
	maps.Copy(settings, map[string]string{"offline": "true", "ignore-scripts": "false", "foreground-scripts": "true"})
	if dir := nodeHeaders(r.jail.Path); dir != "" {
		settings["nodedir"] = dir
	}
	for name, value := range settings {
		j.set(name, value)
	}
	// npm runs the scripts of outer packages first, too.
	packages = slices.Clone(packages)
	slices.SortStableFunc(packages, func(a, b npm.Package) int {
		return strings.Count(a.Path, "node_modules/") - strings.Count(b.Path, "node_modules/")
	})
	for _, p := range packages {
		manifest, err := root.ReadFile(filepath.Join(below(work), filepath.FromSlash(p.Path), "package.json"))
		if what := npm.Fetched(manifest, settings["nodedir"] != ""); err == nil && what != nil {
			r.installer.note(fmt.Sprintf("the install script of %s@%s may need %s, and has no network", p.Name, p.Version, strings.Join(what, ", and ")))
		}
	}
	for _, name := range names(packages) {
		w := &watch{installer: r.installer, stage: r.stage, step: scripts, work: work, pkg: r.line.Packages[0].String()}
		more, err := r.runNPM(ctx, j, w, name, "rebuild", "--prefix", work, "--", name)
		refused = append(refused, more...)
		if err != nil {
			return refused, err
		}
	}
	return refused, nil
}

// nodeHeaders returns the directory of the node that PATH gives, if its headers are there, and
// "" otherwise. With them node-gyp compiles without a network. nvm and its likes bring them,
// distributions have them in a package of their own.
func nodeHeaders(path []string) string {
	for _, dir := range path {
		file, err := filepath.EvalSymlinks(filepath.Join(dir, "node"))
		if err != nil {
			continue
		}
		prefix := filepath.Dir(filepath.Dir(file))
		if _, err := os.Stat(filepath.Join(prefix, "include", "node", "node.h")); err == nil {
			return prefix
		}
		return ""
	}
	return ""
}

// collect makes an entry for the tree that npm has installed, runs the scripts if scripts is true,
// and seals the files.
func (r *npmRun) collect(ctx context.Context, scripts bool) (*fetched, error) {
	lock, err := r.stage.Root().ReadFile(r.stage.Below(r.lockFile()))
	if err != nil {
		return nil, fmt.Errorf("npm wrote no lock file: %w", err)
	}
	packages, err := npm.ReadLock(lock)
	if err != nil {
		return nil, fmt.Errorf("%s was not installed: %w", r.line.Packages[0], err)
	}
	e := &store.Entry{Key: r.installer.key(r.line), Pinned: r.began.UTC().Truncate(time.Second), Tree: npm.Digest(packages), Lock: lock}
	f := &fetched{entry: e}
	work, err := fs.Sub(r.stage.Root().FS(), filepath.ToSlash(r.stage.Below(r.work)))
	if err != nil {
		return nil, err
	}
	if err := describe(e, r.line, work, packages); err != nil {
		return nil, err
	}
	for _, p := range packages {
		if registry := r.from.Apart(e.Name, p.Name); registry != "" {
			r.installer.note(fmt.Sprintf("%s needs %s, which comes with your login from %s: the server can read that code", e.Name, p.Name, registry))
		}
	}
	with := withScripts(packages, work)
	if scripts && with != nil {
		if f.refused, err = r.runScripts(ctx, with); err != nil {
			return f, err
		}
	} else {
		f.skipped = names(with)
	}
	e.ScriptsRan = scripts && e.HasScripts()
	// npm's own files are not sealed: a publisher can change later what they say of a package, such as its
	// deprecation.
	for _, name := range []string{r.manifest(), r.lockFile(), filepath.Join(r.work, "node_modules", ".package-lock.json")} {
		if err := r.stage.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return f, fmt.Errorf("%s: the folder of its packages is not as npm made it: %w", r.line.Packages[0], err)
		}
	}
	w := &watch{installer: r.installer, step: sealing}
	stop := w.run()
	defer stop()
	if f.sealed, err = r.stage.Seal(installed.ID(e), r.work); err == nil {
		e.Files = f.sealed.Contents
	}
	return f, err
}

func describe(e *store.Entry, line *runline.Line, work fs.FS, packages []npm.Package) error {
	root, program, err := npm.RootProgram(work, line.Names(), line.Program)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(packages, func(p npm.Package) bool { return p.Path == "node_modules/"+root })
	if at < 0 {
		return fmt.Errorf("npm's lock file does not have %s", root)
	}
	manifest, err := fs.ReadFile(work, path.Join("node_modules", root, "package.json"))
	if err != nil {
		return err
	}
	if e.Engines, err = npm.Engines(manifest); err != nil {
		e.Engines = "" // npm ignores what it cannot read
	}
	e.Name, e.Version, e.Integrity = root, packages[at].Version, packages[at].Integrity
	if e.Program = program.Name; program.Entry != "" {
		e.File = path.Join("node_modules", root, program.Entry)
	}
	return nil
}

// withScripts returns the packages of a tree that have scripts for their installation. It leaves
// out packages for other systems, which are in the lock file and not in the tree.
func withScripts(packages []npm.Package, work fs.FS) (with []npm.Package) {
	for _, p := range packages {
		if _, err := fs.Lstat(work, p.Path); p.HasInstallScript && err == nil {
			with = append(with, p)
		}
	}
	return with
}

func names(packages []npm.Package) (all []string) {
	for _, p := range packages {
		if name := p.Name + "@" + p.Version; !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
