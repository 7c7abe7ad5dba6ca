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
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/sources"
	"github.com/mcp-jail/mcp-jail/packages/store"
)

// fetched is a package with its tree, complete in a stage.
type fetched struct {
	entry   *lockfile.Entry
	sealed  *store.Sealed
	refused []Refusal
	skipped []string
	run     *npmRun // that fetched it; nil for a package of Python
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
func (i *Installer) fetch(ctx context.Context, stage *store.Stage, line *runline.Line, pinned *lockfile.Entry) (f *fetched, err error) {
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
	var ofPython *PythonError
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
	var ofPython *PythonError
	switch {
	case errors.As(err, &ofNPM):
		return ofNPM.Code == "ENOSPC" || ofNPM.Code == "EDQUOT"
	case errors.As(err, &ofPython):
		return diskFull().MatchString(ofPython.Output + ofPython.log)
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func (i *Installer) fetchNPM(ctx context.Context, stage *store.Stage, line *runline.Line, pinned *lockfile.Entry) (*fetched, error) {
	r, err := i.newRun(ctx, stage, line)
	if err != nil {
		return nil, err
	}
	refused, err := r.fetch(ctx, pinned)
	var failed *FetchError
	if errors.As(err, &failed) && !i.Own {
		failed.Asked = i.asked(&lockfile.Entry{Key: installed.Key(line, &i.Host)})
	}
	if pinned != nil && errors.As(err, &failed) && slices.Contains([]string{"EINTEGRITY", "ETARGET", "E404"}, failed.Code) {
		err = &MovedError{Pinned: pinned, Err: err, LockFile: i.LockFile, Asked: i.asked(pinned)}
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
	if err := os.MkdirAll(r.cache(), 0o700); err != nil {
		return nil, fmt.Errorf("the store of packages cannot be written: %w", err)
	}
	for name, value := range ownSettings(filepath.Dir(r.cache())) {
		r.jail.set(name, value)
	}
	return r, nil
}

// withLogins does something for which npm needs the user's configuration. The file with it is there meanwhile.
func (r *npmRun) withLogins(do func() error) error {
	variables, err := r.from.Write(r.jail.Home())
	if err == nil {
		maps.Copy(r.jail.Variables, variables)
		err = do()
	}
	if left := forgetLogins(r.stage); left != nil && !isFull(err) { // of a full disk, all is removed
		err = errors.Join(err, left)
	}
	return err
}

// cache returns the cache of the npm in the jail, which has what an interrupted installation has fetched.
func (r *npmRun) cache() string { return filepath.Join(r.jail.Home(), "fetched", "_cacache") }

// fetch lets npm resolve, fetch and unpack the packages of the line or, if pinned has a lock file of npm, fetch
// and unpack exactly those that it names.
func (r *npmRun) fetch(ctx context.Context, pinned *lockfile.Entry) (refused []Refusal, err error) {
	// Of an interrupted installation only the archives count, which npm finds by their hashes. The index has what
	// the registry said at that time.
	for _, dir := range []string{r.work, filepath.Join(r.stage.Dir, "servers", scriptsName), filepath.Join(r.cache(), "tmp"), filepath.Join(r.cache(), "index-v5")} {
		if err := r.stage.Remove(dir); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(r.work, 0o700); err != nil {
		return nil, err
	}
	manifest, command := []byte("{}"), []string{"install", "--prefix", r.work, "--"}
	for _, p := range r.line.Packages {
		command = append(command, p.Raw)
	}
	if pinned != nil && pinned.Lock != nil {
		if manifest, err = npm.Manifest(pinned.Lock); err == nil {
			err = os.WriteFile(r.lockFile(), pinned.Lock, 0o600)
		}
		if err != nil {
			return nil, err
		}
		command = []string{"ci", "--prefix", r.work}
		r.jail.set("before", "null") // the age of the versions was looked at when they were pinned
	}
	if err := os.WriteFile(r.manifest(), manifest, 0o600); err != nil {
		return nil, err
	}
	w := &watch{installer: r.installer, step: Fetching, work: r.work, cache: r.cache(), pkg: r.line.Packages[0].String()}
	err = r.withLogins(func() error {
		refused, err = r.runNPM(ctx, r.jail, w, "", command...)
		return err
	})
	return refused, err
}

func (r *npmRun) manifest() string { return filepath.Join(r.work, "package.json") }
func (r *npmRun) lockFile() string { return filepath.Join(r.work, "package-lock.json") }

// runNPM runs npm in a jail. script is the package whose scripts run, or "". Such a jail has no
// credentials. So none are looked for in what it prints: the time of that would tell the scripts of
// them.
func (r *npmRun) runNPM(ctx context.Context, j *fetchJail, w *watch, script string, args ...string) ([]Refusal, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.tooLarge = cancel
	stop := w.run()
	tail := diagnostics.NewTail(nil)
	redactor := r.redactor
	if script != "" {
		redactor = nil
	}
	out := diagnostics.NewStderrFilter(io.MultiWriter(tail, r.installer.told()), redactor)
	exit, denials, err := j.Run(ctx, out, slices.Concat(r.npm, args)...)
	stop()
	out.Flush()
	refused := refusals("npm", script, redactor.RedactDenials(denials))
	// The watch cancels with a TooLargeError, the user with another cause.
	if cause := context.Cause(ctx); cause != nil {
		var large *TooLargeError
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
		return refused, &TooLargeError{Package: w.pkg, File: true, MB: j.Limits.FileSizeMB}
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
