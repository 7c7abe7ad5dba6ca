package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/packages/download"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/runline"
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
	config    *npmConfig
	jail      *fetchJail
	redactor  *diagnostics.Redactor
	work      string // the project in which npm works
	began     time.Time
}

// fetch lets npm, uv or pip install the packages of a line, and seals the tree in the stage. If
// pinned is not nil, it asks for the pinned versions. If newest is true, npm asks the registry
// also for metadata that its cache has. On a full disk it removes what it has fetched.
func (i *Installer) fetch(ctx context.Context, stage *store.Stage, line *runline.Line, pinned *lockfile.Entry, newest bool) (f *fetched, err error) {
	if line.Ecosystem() == runline.PyPI {
		f, err = i.fetchPython(ctx, stage, line, pinned)
	} else {
		f, err = i.fetchNPM(ctx, stage, line, pinned, newest)
	}
	if isFull(err) {
		stage.Discard() // a later installation removes what cannot be removed now
	}
	return f, err
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

func (i *Installer) fetchNPM(ctx context.Context, stage *store.Stage, line *runline.Line, pinned *lockfile.Entry, newest bool) (*fetched, error) {
	if err := fetchable(line); err != nil {
		return nil, err
	}
	r, err := i.newRun(ctx, stage, line)
	if err != nil {
		return nil, err
	}
	specs := specsOf(line)
	if pinned != nil {
		// The tree as it was when it was pinned: what was published since does not count.
		specs = pinnedSpecs(line, pinned)
		r.jail.set("before", pinned.Pinned.UTC().Format(time.RFC3339))
		delete(r.jail.Variables, "npm_config_min_release_age")
	}
	refused, err := r.installOnce(ctx, specs, !newest)
	var failed *FetchError
	if errors.As(err, &failed) && !newest && (failed.Code == "ETARGET" || failed.Code == "E404") {
		refused, err = r.installOnce(ctx, specs, false) // the metadata in npm's cache may be old
	}
	if errors.As(err, &failed) && slices.Contains([]string{"ENOENT", "EACCES", "EINTEGRITY"}, failed.Code) {
		if err := r.forgetCache(); err != nil { // the user's cache has changed meanwhile, or is damaged
			return nil, err
		}
		refused, err = r.installOnce(ctx, specs, !newest)
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

func fetchable(line *runline.Line) error {
	if line.Ecosystem() != runline.NPM {
		return fmt.Errorf("%s: packages of %s cannot be installed yet", line.Packages[0], line.Ecosystem())
	}
	return nil
}

func (i *Installer) newRun(ctx context.Context, stage *store.Stage, line *runline.Line) (*npmRun, error) {
	r := &npmRun{installer: i, line: line, stage: stage, began: time.Now()}
	paths := i.searchPath()
	npm, err := i.findNPM(ctx, paths)
	if err != nil {
		return nil, err
	}
	r.npm = npm.argv
	if r.config, err = i.npmConfigOf(npm); err != nil {
		return nil, err
	}
	// A server that may write one of these files would choose what is installed.
	for _, file := range r.config.files {
		if err := i.believe("the file of npm's settings", file); err != nil {
			return nil, err
		}
	}
	if err := r.config.useProxy(); err != nil {
		return nil, err
	}
	r.redactor = r.config.redactor()
	r.jail = i.jail(stage.Dir, "installer", paths)
	r.jail.Registries, r.jail.Launcher = r.config.registry, confine.Launcher{Unmediated: true}
	r.work = filepath.Join(r.jail.Home(), "work")
	if err := os.MkdirAll(r.cache(), 0o700); err != nil {
		return nil, fmt.Errorf("the store of packages cannot be written: %w", err)
	}
	if r.config.cache != "" {
		if err := seedCache(ctx, r.config.cache, r.cache()); err != nil {
			return nil, fmt.Errorf("npm's cache cannot be used: %w", err)
		}
		// The links of seedCache lead here, so the jail must be able to read it.
		content := filepath.Join(r.config.cache, cacheContent)
		if _, err := os.ReadDir(content); err == nil {
			r.jail.Readable = append(r.jail.Readable, content)
		}
	}
	r.jail.setNPM(r.config, filepath.Dir(r.cache()))
	return r, nil
}

// cache returns the cache of the npm in the jail. Its metadata come from the registries. The
// directory that older versions of mcp-jail used in a stage has some of the user's cache.
func (r *npmRun) cache() string { return filepath.Join(r.jail.Home(), "fetched", "_cacache") }

// installOnce lets npm resolve, fetch and unpack the packages. If cached is true, npm uses the
// metadata of its cache without asking the registry for newer ones.
func (r *npmRun) installOnce(ctx context.Context, specs []string, cached bool) ([]Refusal, error) {
	// The files that an interrupted installation has unpacked are removed. The files that it has
	// fetched stay in the cache.
	for _, dir := range []string{r.work, filepath.Join(r.stage.Dir, "servers", scriptsName), filepath.Join(r.cache(), "tmp")} {
		if err := r.stage.Remove(dir); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(r.work, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(r.work, "package.json"), []byte("{\"private\": true}\n"), 0o600); err != nil {
		return nil, err
	}
	delete(r.jail.Variables, "npm_config_prefer_online")
	delete(r.jail.Variables, "npm_config_prefer_offline")
	r.jail.set(map[bool]string{true: "prefer-offline", false: "prefer-online"}[cached], "true")
	w := &watch{installer: r.installer, step: Fetching, work: r.work, cache: r.cache(), pkg: r.line.Packages[0].String()}
	if r.jail.Through = nil; cached && r.installer.Companion != "" && r.jail.Variables["npm_config_before"] == "" {
		r.jail.Through = []string{r.installer.Companion, download.Word}
		return r.runNPM(ctx, r.jail, w, "", append([]string{r.work}, specs...)...)
	}
	return r.runNPM(ctx, r.jail, w, "", append([]string{"install", "--prefix", r.work, "--ignore-scripts", "--"}, specs...)...)
}

func (r *npmRun) forgetCache() error {
	if err := r.stage.Remove(r.cache()); err != nil {
		return err
	}
	return errors.Join(os.Mkdir(r.cache(), 0o700), os.WriteFile(filepath.Join(r.cache(), ".seeded"), nil, 0o600))
}

func specsOf(line *runline.Line) (specs []string) {
	for _, p := range line.Packages {
		specs = append(specs, p.Raw)
	}
	return specs
}

// runNPM runs npm in a jail. script is the package whose scripts run, or "". Such a jail has no
// credentials. So none are looked for in what it prints: the time of that would tell the scripts of
// them.
func (r *npmRun) runNPM(ctx context.Context, j *fetchJail, w *watch, script string, args ...string) ([]Refusal, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.tooLarge = cancel
	stop := w.run()
	tail := diagnostics.NewTail(nil)
	archives := &archiveWatch{}
	redactor := r.redactor
	if script != "" {
		redactor = nil
	}
	out := diagnostics.NewStderrFilter(io.MultiWriter(tail, archives, r.installer.told()), redactor)
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
	// npm only warns of an archive with a file outside its package, and exits with 0.
	if err != nil || exit.Code == 0 && !archives.outside {
		return refused, err
	}
	failed := &FetchError{Package: w.pkg, Script: script, Status: exit.Code, Output: tail.Lines(tail.LineCount()), Refused: refused, Registry: r.config.hosts()}
	if failed.Code = codeOf(failed.Output); archives.outside {
		failed.Code = outsideCode
	}
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
		"fetch-retries": "1", "fetch-retry-mintimeout": "1000", "fetch-retry-maxtimeout": "5000", "progress": "false", "loglevel": "notice",
		"omit-lockfile-registry-resolved": "true", "save-exact": "true", "install-links": "true", "userconfig": nothing, "globalconfig": filepath.Join(nothing, "none"), "git": filepath.Join(nothing, "none"),
	}
}

// setNPM sets the variables that configure the npm that fetches. Unlike set, it keeps the names of
// credentials as they are.
func (j *fetchJail) setNPM(config *npmConfig, cache string) {
	settings := maps.Clone(config.settings)
	maps.Copy(settings, ownSettings(cache))
	for name, value := range settings {
		j.set(name, value)
	}
	for name, value := range config.credentials {
		j.Variables["npm_config_"+name] = value
	}
	for name, value := range config.certificates {
		j.Variables[name] = value
	}
	j.Readable = append(j.Readable, config.files...)
}

func (c *npmConfig) hosts() (hosts []string) {
	for _, u := range c.registry {
		hosts = append(hosts, u.Host)
	}
	return slices.Compact(hosts)
}

func (c *npmConfig) registryOf(name string) (*url.URL, error) {
	if scope, _, ok := strings.Cut(name, "/"); ok && c.settings[scope+":registry"] != "" {
		return url.Parse(c.settings[scope+":registry"])
	}
	return url.Parse(c.settings["registry"])
}
