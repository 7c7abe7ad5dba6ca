package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/python"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/sources"
	"github.com/mcp-jail/mcp-jail/packages/store"
)

// A pythonFetch installs packages of a Python index.
//
// uv resolves and fetches if the user has it, otherwise pip. Both take wheels only: a wheel runs
// nothing when it is installed. The jail of the download reaches the indexes, and has their logins.
// In it the kernel refuses to start a program after pip, and after uv any but the Python that is
// named here, and uv is told to build nothing. So no code of a package runs there. pip unpacks the wheels
// in a jail without a network. With pip, fromSource may build a wheel first.
type pythonFetch struct {
	*Installer
	stage   *store.Stage
	line    *runline.Line
	pinned  *store.Entry
	jail    *fetchJail
	python  installed.Interpreter
	from    *sources.Sources
	uv      string            // path of uv; "" if pip does it
	built   map[string]string // the packages that were built here, with the hashes of their sources
	refused []refusal
}

func (p *pythonFetch) work() string { return filepath.Join(p.jail.Home(), "work") }
func (p *pythonFetch) site() string { return filepath.Join(p.work(), "site") }

// local is the directory with the wheels that were built here.
func (p *pythonFetch) local() string { return filepath.Join(p.jail.Home(), "built") }

// root is the package that the line names first.
func (p *pythonFetch) root() string { return p.line.Packages[0].Name }

// fresh removes a directory of the stage, and makes others that may be in it.
func (p *pythonFetch) fresh(dir string, made ...string) error {
	err := p.stage.Remove(dir)
	for _, each := range made {
		err = errors.Join(err, p.stage.Root().MkdirAll(p.stage.Below(each), 0o700))
	}
	return err
}

func (p *pythonFetch) installer() string {
	if p.uv != "" {
		return "uv"
	}
	return "pip"
}

func (i *Installer) pythonJail(dir string) *fetchJail {
	return i.jail(dir, "installer", i.searchPath())
}

func (i *Installer) fetchPython(ctx context.Context, stage *store.Stage, line *runline.Line, pinned *store.Entry) (f *fetched, err error) {
	p := &pythonFetch{Installer: i, stage: stage, line: line, pinned: pinned, jail: i.pythonJail(stage.Dir)}
	p.uv = p.lookPath(p.jail.Path, "uv")
	chosen, newest, err := p.interpreters(ctx)
	if err != nil {
		return nil, err
	}
	p.python = chosen
	f, err = p.fetch(ctx, stage)
	var failed *pythonError
	if errors.As(err, &failed) && failed.needsPython() && newest.Path != chosen.Path {
		p.python = newest
		f, err = p.fetch(ctx, stage)
	}
	return f, err
}

// interpreters returns the Python that the start would choose, and the newest one, which is tried if the
// package wants another. For a pinned package it is both times one for which it was installed.
func (p *pythonFetch) interpreters(ctx context.Context) (chosen, newest installed.Interpreter, err error) {
	found, err := p.findPython(ctx)
	if err != nil {
		return chosen, newest, err
	}
	rng, ok := python.VersionRange(p.line.Python)
	if !ok {
		return chosen, newest, fmt.Errorf("--python %s is not a version of CPython: name one, such as 3.12", p.line.Python)
	}
	if p.pinned != nil && p.pinned.Engines != "" {
		same, err := found.Choose(p.pinned.Engines, python.Fits)
		return same, same, installed.Anew(err, p.asked(p.pinned))
	}
	if chosen, err = found.Choose(rng, python.Fits); err != nil {
		return chosen, newest, err
	}
	for i := range found.Interpreters {
		found.Interpreters[i].Default = false // so that the newest is chosen
	}
	newest, err = found.Choose(rng, python.Fits)
	return chosen, newest, err
}

func (i *Installer) findPython(ctx context.Context) (installed.Found, error) {
	return installed.Interpreters(ctx, &i.Host, i.Waive, i.untrusted, installed.Python)
}

// lookForPython returns an error if there is no file that could be a Python.
func (i *Installer) lookForPython() error {
	for _, dir := range i.searchPath() {
		entries, _ := os.ReadDir(dir)
		if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return installed.IsInterpreter(installed.Python, e.Name()) }) {
			return nil
		}
	}
	for _, m := range i.Host.VersionManagers() {
		if found, _ := filepath.Glob(filepath.Join(m.Versions, "*", m.Program)); m.Language == string(installed.Python) && found != nil {
			return nil
		}
	}
	return errors.New("Python was not found in PATH" + i.ignoredPaths() + ", nor one of a version manager: it runs the packages of Python. Install python3, for example from your distribution")
}

// checkPython returns an error if this machine has no Python any more for which a package was installed.
func (i *Installer) checkPython(ctx context.Context, e *store.Entry) error {
	if e.Ecosystem != store.PyPI {
		return nil
	}
	found, err := i.findPython(ctx)
	if err != nil {
		return nil // the start reports the error
	}
	_, err = found.Choose(e.Engines, python.Fits)
	return installed.Anew(err, i.asked(e))
}

func (p *pythonFetch) fetch(ctx context.Context, stage *store.Stage) (*fetched, error) {
	if err := p.configure(); err != nil {
		return nil, err
	}
	if err := p.fresh(p.work(), p.site()); err != nil {
		return nil, err
	}
	with := p.withPip
	if p.uv != "" {
		with = p.withUv
	}
	packages, err := with(ctx)
	if err != nil {
		return nil, err
	}
	return p.collect(ctx, stage, packages)
}

// configure has the tool in the jail take packages from where the user takes them.
func (p *pythonFetch) configure() (err error) {
	said := p.from != nil // for the Python that was tried before
	if p.from, err = p.readSources(); err != nil {
		return err
	}
	if !said {
		if err := p.useSources(p.from); err != nil {
			return err
		}
	}
	home := p.jail.Home()
	if err := p.stage.Root().MkdirAll(p.stage.Below(home), 0o700); err != nil {
		return err
	}
	written, input := p.from.Written(home)
	p.jail.Input = input
	if p.jail.Variables = python.PipVariables(home); p.uv != "" {
		p.jail.Variables = python.UvVariables(home)
	}
	maps.Copy(p.jail.Variables, written)
	p.jail.Registries = p.from.Registries()
	p.jail.Readable = slices.Clone(p.from.Certificates)
	p.jail.Once = p.uv == ""
	if prefix := filepath.Dir(filepath.Dir(p.python.Path)); p.uv != "" { // it asks the interpreter about itself
		p.jail.MayStart = []string{p.python.Path}
		if prefix != "/usr" && prefix != "/" { // every jail shows that of the system
			p.jail.Readable = append(p.jail.Readable, prefix)
		}
	}
	return nil
}

// readSources reads the user's configuration of the installer. If pip installs for a line of uvx,
// that of uv counts if it says where packages come from.
func (p *pythonFetch) readSources() (*sources.Sources, error) {
	reader := sources.Reader{Host: &p.Host, Logins: p.Own, Prefix: filepath.Dir(filepath.Dir(p.python.Path))}
	reader.Believe = func(file string) error { return p.believe("the configuration of Python packages", file) }
	ofUv, err := reader.Read(sources.Uv)
	switch {
	case err != nil || p.uv != "":
		return ofUv, err
	case ofUv.Configured:
		return ofUv.As(sources.Pip), nil
	}
	return reader.Read(sources.Pip)
}

// online runs a command in the jail that has the network and the logins.
func (p *pythonFetch) online(ctx context.Context, argv ...string) error {
	return p.run(ctx, *p.jail, fetching, "", argv...)
}

// offline runs a command in the same jail without a network.
func (p *pythonFetch) offline(ctx context.Context, step step, argv ...string) error {
	jail := *p.jail
	jail.Registries, jail.Once, jail.MayStart, jail.Input = nil, true, nil, ""
	return p.run(ctx, jail, step, "", argv...)
}

// run runs a command in a jail. script is the package whose code runs, or "". Such a jail has no
// logins, so none are looked for in what it prints: see runNPM.
func (p *pythonFetch) run(ctx context.Context, jail fetchJail, step step, script string, argv ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	failed := &pythonError{What: p.line.Packages[0].String(), Installer: p.installer(), Python: p.python.Version, Own: p.Own}
	log := filepath.Join(jail.Home(), pipLog)
	if err := p.stage.Remove(log); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	w := &watch{installer: p.Installer, stage: p.stage, step: step, work: p.jail.Home(), tooLarge: cancel, pkg: failed.What}
	stop := w.run()
	var redactor *diagnostics.Redactor
	if script == "" {
		redactor = diagnostics.NewRedactor(p.from.Secrets())
	}
	tail := diagnostics.NewTail(nil)
	out := diagnostics.NewStderrFilter(io.MultiWriter(tail, p.told()), redactor, nil)
	exit, denials, err := jail.Run(ctx, out, argv...)
	stop()
	out.Flush()
	failed.Refused = refusals(failed.Installer, script, redactor.RedactDenials(denials))
	for _, r := range failed.Refused {
		if script != "" || r.Operation != "exec" { // pip does without the programs that tell it the system's name
			p.refused = append(p.refused, r)
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		var large *tooLargeError
		if errors.As(cause, &large) {
			return large
		}
		return fmt.Errorf("the installation of %s was stopped: %w", failed.What, cause)
	}
	if exit.Code == sigXFSZ {
		return &tooLargeError{Package: failed.What, File: true, MB: jail.Limits.FileSizeMB}
	}
	failed.Status, failed.Output = exit.Code, strings.Join(tail.Lines(tail.LineCount()), "\n")
	if script == "" { // else the log could be the work of the script
		failed.log, _ = readHead(p.stage.Root(), p.stage.Below(log), maxLog) // uv and compileall write none
	}
	if err != nil || exit.Code == 0 && !refusedPage().MatchString(failed.log) {
		return err
	}
	return failed
}

// pipLog is pip's log, in the HOME of its jail. maxLog bounds what is read of it.
const (
	pipLog = "pip.log"
	maxLog = 16 << 20
)

func (p *pythonFetch) collect(ctx context.Context, stage *store.Stage, packages []python.Package) (*fetched, error) {
	tree, err := finishTree(p.Host.OS, stage.Root(), stage.Below(p.work()))
	if err != nil {
		return nil, err
	}
	compile := append([]string{p.python.Path}, python.CompileAll(p.site())...)
	if err := p.offline(ctx, sealing, compile...); err != nil && ctx.Err() != nil {
		return nil, err // otherwise some file is no Python of this version, which only matters if it is loaded
	}
	for i := range packages {
		if m, ok := tree.metadata[packages[i].Name]; ok && m.Version != "" {
			packages[i].Version = m.Version
		}
	}
	e, err := p.entry(tree, packages)
	if err != nil {
		return nil, err
	}
	f := &fetched{entry: e, refused: p.refused}
	w := &watch{installer: p.Installer, step: sealing}
	stop := w.run()
	defer stop()
	if f.sealed, err = stage.Seal(installed.ID(e), p.work()); err == nil {
		e.Files = f.sealed.Contents
	}
	return f, err
}

func (p *pythonFetch) entry(tree *pythonTree, packages []python.Package) (*store.Entry, error) {
	root := p.root()
	at := slices.IndexFunc(packages, func(d python.Package) bool { return d.Name == root })
	if at < 0 {
		return nil, fmt.Errorf("%s was asked for %s, and has not installed it", p.installer(), root)
	}
	file, err := tree.program(p.stage.Root(), p.stage.Below(p.work()), p.line, root)
	if err != nil {
		return nil, err
	}
	e := &store.Entry{
		Key: p.key(p.line), Name: root, Version: packages[at].Version, Integrity: packages[at].Integrity(),
		Program: p.line.Program, File: file, Engines: tree.versions(p.line, p.python.Version),
		Pinned: time.Now().UTC().Truncate(time.Second), Tree: python.Digest(packages),
	}
	for _, d := range packages {
		e.Packages = append(e.Packages, store.Package(d))
		e.ScriptsRan = e.ScriptsRan || p.built[d.Name] != ""
	}
	return e, p.compare(e, packages)
}

// compare returns a *movedError if the fetched packages are not the pinned ones. If they are, e
// takes over the pinned tree, packages and integrity.
func (p *pythonFetch) compare(e *store.Entry, packages []python.Package) error {
	if p.pinned == nil {
		return nil
	}
	if !python.Same(pinnedPackages(p.pinned), packages) {
		return &movedError{Pinned: p.pinned, Found: e, LockFile: p.LockFile, Asked: p.asked(p.pinned)}
	}
	e.Tree, e.Packages, e.Integrity = p.pinned.Tree, p.pinned.Packages, p.pinned.Integrity
	return nil
}

func pinnedPackages(e *store.Entry) (out []python.Package) {
	if e == nil {
		return nil
	}
	for _, l := range e.Packages {
		out = append(out, python.Package(l))
	}
	return out
}

// maxSources bounds the packages of a tree that are built from their sources.
const maxSources = 20

// fromSource builds the package for which pip has found no wheel, and lets pip go on. The
// installation must allow scripts. The source distribution and what its build needs are
// downloaded first; the build has no network, and a HOME of its own.
func (p *pythonFetch) fromSource(ctx context.Context, failed error) ([]python.Package, error) {
	var e *pythonError
	if !errors.As(failed, &e) || !e.needsSource() || !p.Scripts || len(p.built) == maxSources {
		return nil, failed
	}
	requirement := e.missing()
	name := python.RequirementName(requirement)
	// The built wheel is there, and pip still does not take it.
	if _, again := p.built[name]; again {
		return nil, failed
	}
	for _, d := range pinnedPackages(p.pinned) {
		if d.Name == name {
			requirement = name + "==" + d.Version
		}
	}
	at := filepath.Join(p.jail.Home(), fmt.Sprintf("source-%d", len(p.built)))
	archive, needs := filepath.Join(at, "archive"), filepath.Join(at, "needs")
	if err := p.fresh(at, archive, needs); err != nil {
		return nil, err
	}
	words := python.SourceDownload(requirement, archive, needs)
	if err := p.online(ctx, append([]string{p.python.Path}, words...)...); err != nil {
		return nil, err
	}
	source, err := p.onlyFile(archive)
	if err != nil {
		return nil, err
	}
	if err := p.build(ctx, name, source, needs); err != nil {
		return nil, err
	}
	return p.withPip(ctx)
}

// build builds a wheel in a jail without a network, and notes the hash of its sources.
func (p *pythonFetch) build(ctx context.Context, name, source, needs string) error {
	hash, err := p.hashOf(source)
	if err != nil {
		return err
	}
	jail := p.pythonJail(filepath.Join(p.jail.Dir, "build", name))
	jail.Name, jail.Readable, jail.Watched = scriptsName, []string{source, needs}, true
	jail.Variables = python.PipVariables(jail.Home())
	wheel := filepath.Join(jail.Home(), "wheel")
	if err := p.fresh(jail.Dir, wheel); err != nil {
		return err
	}
	if err := p.run(ctx, *jail, scripts, name, append([]string{p.python.Path}, python.Build(source, needs, wheel)...)...); err != nil {
		return err
	}
	file, err := p.onlyFile(wheel)
	if err != nil {
		return err
	}
	if made, _, err := python.ParseWheel(filepath.Base(file)); err != nil || made != name {
		return fmt.Errorf("the build of %s has made %s", filepath.Base(source), filepath.Base(file))
	}
	if p.built == nil {
		p.built = map[string]string{}
		if err := p.fresh(p.local(), p.local()); err != nil {
			return err
		}
	}
	p.built[name] = hash
	return p.stage.Root().Rename(p.stage.Below(file), p.stage.Below(filepath.Join(p.local(), filepath.Base(file))))
}

// onlyFile returns the one file in a directory, which a build may have written.
func (p *pythonFetch) onlyFile(dir string) (string, error) {
	root, below := p.stage.Root(), p.stage.Below(dir)
	if info, err := root.Lstat(below); err != nil || !info.IsDir() { // a build may have put a link there
		return "", errors.Join(fmt.Errorf("%s is no directory", dir), err)
	}
	entries, err := fs.ReadDir(root.FS(), filepath.ToSlash(below))
	if err == nil && (len(entries) != 1 || !entries[0].Type().IsRegular()) {
		err = fmt.Errorf("one file was expected in %s, and there is something else: %d entries", dir, len(entries))
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, entries[0].Name()), nil
}
