package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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
	line    *runline.Line
	pinned  *lockfile.Entry
	jail    *fetchJail
	python  runtime.Interpreter
	from    *sources.Sources
	uv      string            // path of uv; "" if pip does it
	built   map[string]string // the packages that were built here, with the hashes of their sources
	refused []Refusal
}

func (p *pythonFetch) work() string { return filepath.Join(p.jail.Home(), "work") }
func (p *pythonFetch) site() string { return filepath.Join(p.work(), "site") }

// local is the directory with the wheels that were built here.
func (p *pythonFetch) local() string { return filepath.Join(p.jail.Home(), "built") }

// root is the package that the line names first.
func (p *pythonFetch) root() string { return p.line.Packages[0].Name }

func (p *pythonFetch) installer() string {
	if p.uv != "" {
		return "uv"
	}
	return "pip"
}

func (i *Installer) pythonJail(dir string) *fetchJail {
	return i.jail(dir, "installer", i.searchPath())
}

func (i *Installer) fetchPython(ctx context.Context, stage *store.Stage, line *runline.Line, pinned *lockfile.Entry) (f *fetched, err error) {
	defer func() {
		if left := forgetLogins(stage); left != nil && !isFull(err) { // of a full disk, all is removed
			f, err = nil, errors.Join(err, left)
		}
	}()
	p := &pythonFetch{Installer: i, line: line, pinned: pinned, jail: i.pythonJail(stage.Dir)}
	p.uv = p.lookPath(p.jail.Path, "uv")
	chosen, newest, err := p.interpreters(ctx)
	if err != nil {
		return nil, err
	}
	p.python = chosen
	f, err = p.fetch(ctx, stage)
	var failed *PythonError
	if errors.As(err, &failed) && failed.needsPython() && newest.Path != chosen.Path {
		p.python = newest
		f, err = p.fetch(ctx, stage)
	}
	return f, err
}

// interpreters returns the Python that the start would choose, and the newest one, which is tried if the
// package wants another. For a pinned package whose Python is there, it is both times that one.
func (p *pythonFetch) interpreters(ctx context.Context) (chosen, newest runtime.Interpreter, err error) {
	found, err := p.findPython(ctx)
	if err != nil {
		return chosen, newest, err
	}
	rng, ok := python.VersionRange(p.line.Python)
	if !ok {
		return chosen, newest, fmt.Errorf("--python %s is not a version of CPython: name one, such as 3.12", p.line.Python)
	}
	if p.pinned != nil && p.pinned.Engines != "" {
		if same, err := found.Choose(p.pinned.Engines, runtime.PythonFits); err == nil {
			return same, same, nil
		}
	}
	if chosen, err = found.Choose(rng, runtime.PythonFits); err != nil {
		return chosen, newest, err
	}
	for i := range found.Interpreters {
		found.Interpreters[i].Default = false // so that the newest is chosen
	}
	newest, err = found.Choose(rng, runtime.PythonFits)
	return chosen, newest, err
}

// otherPython reports whether the pinned tree does not run on the version of Python that installs
// now, because this machine has no Python for it any more. Then packages with machine code are
// other files.
func (p *pythonFetch) otherPython() bool {
	if p.pinned == nil {
		return false
	}
	ok, err := runtime.PythonFits(p.pinned.Engines, p.python.Version)
	return err == nil && !ok
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

// runs reports whether this machine has a Python for an installed package.
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

func (p *pythonFetch) fetch(ctx context.Context, stage *store.Stage) (*fetched, error) {
	if err := p.configure(); err != nil {
		return nil, err
	}
	if err := errors.Join(os.RemoveAll(p.work()), os.MkdirAll(p.site(), 0o700)); err != nil {
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
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	written, err := p.from.Write(home)
	if err != nil {
		return err
	}
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
	return p.run(ctx, *p.jail, Fetching, "", argv...)
}

// offline runs a command in the same jail without a network.
func (p *pythonFetch) offline(ctx context.Context, step Step, argv ...string) error {
	jail := *p.jail
	jail.Registries, jail.Once, jail.MayStart = nil, true, nil
	return p.run(ctx, jail, step, "", argv...)
}

// run runs a command in a jail. script is the package whose code runs, or "". Such a jail has no
// logins, so none are looked for in what it prints: see runNPM.
func (p *pythonFetch) run(ctx context.Context, jail fetchJail, step Step, script string, argv ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	failed := &PythonError{What: p.line.Packages[0].String(), Installer: p.installer(), Python: p.python.Version, Own: p.Own}
	log := filepath.Join(jail.Home(), pipLog)
	os.Remove(log)
	w := &watch{installer: p.Installer, step: step, work: p.jail.Home(), tooLarge: cancel, pkg: failed.What}
	stop := w.run()
	var redactor *diagnostics.Redactor
	if script == "" {
		redactor = diagnostics.NewRedactor(p.from.Secrets())
	}
	tail := diagnostics.NewTail(nil)
	out := diagnostics.NewStderrFilter(io.MultiWriter(tail, p.told()), redactor)
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
		var large *TooLargeError
		if errors.As(cause, &large) {
			return large
		}
		return fmt.Errorf("the installation of %s was stopped: %w", failed.What, cause)
	}
	if exit.Code == sigXFSZ {
		return &TooLargeError{Package: failed.What, File: true, MB: jail.Limits.FileSizeMB}
	}
	failed.Status, failed.Output = exit.Code, strings.Join(tail.Lines(tail.LineCount()), "\n")
	if script == "" { // else the log could be the work of the script
		text, _ := p.Host.ReadHead(log, maxLog) // uv and compileall write none
		failed.log = string(text)
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
