package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/python"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/runtime"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A pythonFetch installs packages of a Python index.
//
// uv resolves and fetches if the user has it, otherwise pip. Both take wheels only: a wheel runs
// nothing when it is installed. With pip, fromSource may build a wheel first. pip unpacks the
// wheels in a jail without a network. The jail of the download reaches the indexes, and the hosts
// that their pages name for the files. No code of a package runs there.
type pythonFetch struct {
	*Installer
	line    *runline.Line
	pinned  *lockfile.Entry
	jail    *fetchJail
	python  runtime.Interpreter
	config  python.Config
	request python.Request
	uv      string            // path of uv; "" if pip does it
	local   []string          // directories with wheels that were built here
	built   map[string]string // the packages of those wheels, with the hashes of their sources
	bound   []string          // names of the packages whose wheels are for one version of Python
	refused []Refusal
}

func (p *pythonFetch) work() string { return filepath.Join(p.jail.Home(), "work") }
func (p *pythonFetch) site() string { return filepath.Join(p.work(), "site") }

func (i *Installer) fetchPython(ctx context.Context, stage *store.Stage, line *runline.Line, pinned *lockfile.Entry) (f *fetched, err error) {
	defer func() {
		if left := forgetLogins(stage); left != nil && !isFull(err) { // of a full disk, all is removed
			f, err = nil, errors.Join(err, fmt.Errorf("a login may be left below %s: %w", stage.Dir, left))
		}
	}()
	p := &pythonFetch{Installer: i, line: line, pinned: pinned, jail: i.pythonJail(stage.Dir)}
	p.uv = p.lookPath(p.jail.Path, "uv")
	interpreters, err := p.interpreters(ctx)
	if err != nil {
		return nil, err
	}
	for n, python := range interpreters {
		p.python = python
		r, err := p.fetch(ctx, stage)
		var failed *PythonError
		if errors.As(err, &failed) && failed.needsPython() && n+1 < len(interpreters) {
			continue // the package wants another Python, and there is one
		}
		return r, err
	}
	return nil, errors.New("no Python was tried") // interpreters returns one or an error
}

// interpreters returns the Pythons to try: the one that the start would choose, and the newest. It
// returns only one for a --python with a path, and for a pinned package whose Python is there.
func (p *pythonFetch) interpreters(ctx context.Context) ([]runtime.Interpreter, error) {
	found, err := p.findPython(ctx)
	if err != nil {
		return nil, err
	}
	if filepath.IsAbs(p.line.Python) {
		file, err := filepath.EvalSymlinks(p.line.Python)
		at := slices.IndexFunc(found.Interpreters, func(i runtime.Interpreter) bool {
			return i.Path == file
		})
		if err != nil || at < 0 {
			return nil, fmt.Errorf("--python %s is none of the Pythons that were found in PATH and in the version managers: name its version instead", p.line.Python)
		}
		return found.Interpreters[at : at+1], nil
	}
	rng, ok := python.VersionRange(p.line.Python)
	if !ok {
		return nil, fmt.Errorf("--python %s is not a version of CPython, such as 3.12", p.line.Python)
	}
	if p.pinned != nil && p.pinned.Engines != "" {
		if chosen, err := found.Choose(p.pinned.Engines, runtime.PythonFits); err == nil {
			return []runtime.Interpreter{chosen}, nil
		}
	}
	chosen, err := found.Choose(rng, runtime.PythonFits)
	if err != nil {
		return nil, err
	}
	all := []runtime.Interpreter{chosen}
	for i := range found.Interpreters {
		found.Interpreters[i].Default = false // so that the newest is chosen
	}
	if newest, err := found.Choose(rng, runtime.PythonFits); err == nil && newest.Path != chosen.Path {
		all = append(all, newest)
	}
	return all, nil
}

func (p *pythonFetch) fetch(ctx context.Context, stage *store.Stage) (*fetched, error) {
	if err := p.configure(); err != nil {
		return nil, err
	}
	if err := errors.Join(os.RemoveAll(p.work()), os.MkdirAll(p.site(), 0o700)); err != nil {
		return nil, err
	}
	var packages []python.Package
	var err error
	if p.uv != "" {
		packages, err = p.withUv(ctx)
	} else {
		packages, err = p.withPip(ctx)
	}
	if err != nil {
		return nil, err
	}
	return p.collect(ctx, stage, packages)
}

// run runs a command in the jail. script is the package whose code runs, or "". Such a jail has no
// credentials, so none are looked for in what it prints: see runNPM.
func (p *pythonFetch) run(ctx context.Context, network bool, step Step, script string, argv ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	what := p.line.Packages[0].String()
	w := &watch{installer: p.Installer, step: step, work: p.jail.Home(), tooLarge: cancel, pkg: what}
	log := filepath.Join(p.jail.Home(), "pip.log")
	os.Remove(log)
	jail := *p.jail
	if !network {
		jail.Registries, jail.Watched = nil, script != ""
	}
	stop := w.run()
	var redactor *diagnostics.Redactor
	if script == "" {
		redactor = diagnostics.NewRedactor(p.config.Secrets())
	}
	tail := diagnostics.NewTail(nil)
	out := diagnostics.NewStderrFilter(io.MultiWriter(tail, p.told()), redactor)
	exit, denials, err := jail.Run(ctx, out, argv...)
	stop()
	out.Flush()
	p.refused = append(p.refused, refusals(p.installer(), script, redactor.RedactDenials(denials))...)
	if cause := context.Cause(ctx); cause != nil {
		var large *TooLargeError
		if errors.As(cause, &large) {
			return large
		}
		return fmt.Errorf("the installation of %s was stopped: %w", what, cause)
	}
	switch {
	case err != nil || exit.Code == 0:
		return err
	case exit.Code == sigXFSZ:
		return &TooLargeError{Package: what, File: true, MB: jail.Limits.FileSizeMB}
	}
	text := readLog(jail.Home(), filepath.Base(log)) // uv and compileall write none
	return &PythonError{What: what, Installer: p.installer(), Python: p.python.Version, Status: exit.Code, Output: strings.Join(tail.Lines(tail.LineCount()), "\n"), log: text}
}

// maxLog bounds what is read of pip's log.
const maxLog = 16 << 20

// readLog returns the text of a log, or "" if it cannot be read. A package's code may have written
// the directory: readLog refuses a FIFO, and a link out of the directory.
func readLog(dir, name string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	f, err := root.OpenFile(name, os.O_RDONLY|hostfs.OpenFlags, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, _ := io.ReadAll(io.LimitReader(f, maxLog)) // as far as it can be read
	return string(text)
}

func (p *pythonFetch) installer() string {
	if p.uv != "" {
		return "uv"
	}
	return "pip"
}

// maxFileHosts bounds how often a command runs again with further hosts for files.
const maxFileHosts = 4

// online runs a command in the jail with the network. If an index names a host for its files
// that the jail does not reach, the host is granted, and the command runs again.
func (p *pythonFetch) online(ctx context.Context, argv ...string) error {
	for range maxFileHosts {
		err := p.run(ctx, true, Fetching, "", argv...)
		var failed *PythonError
		if !errors.As(err, &failed) {
			return err
		}
		hosts := failed.fileHosts(p.jail.Registries)
		if hosts == nil {
			return err
		}
		p.jail.Registries = append(p.jail.Registries, hosts...)
		p.forget(hosts)
	}
	return p.run(ctx, true, Fetching, "", argv...)
}

func (p *pythonFetch) withPip(ctx context.Context) ([]python.Package, error) {
	home := p.jail.Home()
	dir := filepath.Join(home, "wheels")
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return nil, err
	}
	words, err := p.request.PipDownload(dir, p.local), error(nil)
	// A wheel that was built here has another hash each time, so only its version is asked for.
	if pinned := pinnedPackages(p.pinned); pinned != nil && !p.otherPython() && !p.wasBuilt() {
		file := filepath.Join(home, "pinned.txt")
		err = os.WriteFile(file, []byte(python.Requirements(pinned)), 0o600)
		words = python.PipDownloadPinned(dir, file, p.local)
	} else if pinned != nil {
		words, err = p.sameVersions().PipDownload(dir, p.local), p.writeVersions(pinned)
	}
	if err != nil {
		return nil, err
	}
	if err := p.online(ctx, append([]string{p.python.Path}, words...)...); err != nil {
		return p.fromSource(ctx, err)
	}
	packages, files, err := p.readWheels(dir)
	if err != nil {
		return nil, err
	}
	return packages, p.run(ctx, false, Fetching, "", append([]string{p.python.Path}, python.PipInstall(p.site(), files)...)...)
}

// sameVersions returns the request, constrained to the versions of the pinned packages. Another
// Python may need other packages, and other files of these versions.
func (p *pythonFetch) sameVersions() python.Request {
	r := p.request
	r.Constraints = append(slices.Clone(r.Constraints), p.versionsFile())
	return r
}

func (p *pythonFetch) versionsFile() string { return filepath.Join(p.jail.Home(), "versions.txt") }

func (p *pythonFetch) writeVersions(pinned []python.Package) error {
	text := ""
	for _, d := range pinned {
		text += d.Name + "==" + d.Version + "\n"
	}
	return os.WriteFile(p.versionsFile(), []byte(text), 0o600)
}

func (p *pythonFetch) readWheels(dir string) (packages []python.Package, files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		w, err := python.ParseWheel(e.Name())
		if err != nil {
			return nil, nil, err
		}
		hash, err := hashOf(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, nil, err
		}
		if source := p.built[w.Name]; source != "" {
			hash = source // two builds of the same sources may differ
		}
		if w.Bound() {
			p.bound = append(p.bound, w.Name)
		}
		packages = append(packages, python.Package{Name: w.Name, Version: w.Version, Hashes: []string{hash}})
		files = append(files, filepath.Join(dir, e.Name()))
	}
	slices.SortFunc(packages, func(a, b python.Package) int { return strings.Compare(a.Name, b.Name) })
	return packages, files, nil
}

// withUv lets uv resolve, and then install exactly the files whose hashes it has written.
func (p *pythonFetch) withUv(ctx context.Context) ([]python.Package, error) {
	home := p.jail.Home()
	in, out := filepath.Join(home, "wanted.txt"), filepath.Join(home, "resolved.txt")
	text := strings.Join(p.request.Requirements, "\n") + "\n"
	pinned, request := pinnedPackages(p.pinned), p.request
	switch {
	// The pinned files: uv has nothing to resolve, and takes the list with its hashes.
	case pinned != nil && !p.otherPython():
		out, text = in, python.Requirements(pinned)
	// Another Python needs other files, but of the same versions.
	case pinned != nil:
		if err := p.writeVersions(pinned); err != nil {
			return nil, err
		}
		request = p.sameVersions()
	}
	if err := os.WriteFile(in, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if out != in {
		if err := p.online(ctx, append([]string{p.uv}, request.UvCompile(p.python.Path, in, out)...)...); err != nil {
			return nil, err
		}
	}
	resolved, err := os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("uv has left no list of packages: %w", err)
	}
	packages, err := python.ReadRequirements(string(resolved))
	if err != nil {
		return nil, fmt.Errorf("the list of packages that uv has left cannot be read: %w", err)
	}
	return packages, p.online(ctx, append([]string{p.uv}, python.UvInstall(p.python.Path, p.site(), out)...)...)
}

func (i *Installer) findPython(ctx context.Context) (runtime.Found, error) {
	return installed.Interpreters(ctx, &i.Host, i.Waive, i.untrusted, runtime.Python)
}

// lookForPython returns an error if there is no file that could be a Python.
func (i *Installer) lookForPython() error {
	for _, dir := range i.searchPath() {
		entries, _ := os.ReadDir(dir)
		if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return runtime.IsInterpreter(runtime.Python, e.Name()) }) {
			return nil
		}
	}
	for _, m := range i.Host.VersionManagers() {
		if found, _ := filepath.Glob(filepath.Join(m.Versions, "*", m.Program)); m.Language == string(runtime.Python) && found != nil {
			return nil
		}
	}
	return errors.New("Python was not found in PATH" + i.ignoredPaths() + ", nor one of a version manager: it runs the packages of Python. Install python3, for example from your distribution")
}

func (i *Installer) pythonJail(dir string) *fetchJail {
	return i.jail(dir, "installer", i.searchPath())
}

func (i *Installer) runs(ctx context.Context, e *lockfile.Entry) bool {
	if e.Ecosystem != lockfile.PyPI {
		return true
	}
	found, err := i.findPython(ctx)
	if err != nil {
		return true // the start reports the error
	}
	_, err = found.Choose(e.Engines, runtime.PythonFits)
	var missing *runtime.MissingError
	return !errors.As(err, &missing)
}

func (p *pythonFetch) root() string { return p.line.Packages[0].Name }
