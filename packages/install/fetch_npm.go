package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/packages/launcher"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
)

// fetch lets npm install the packages of a line, and moves them to the store. pinned is the
// entry of the lock file, if there is one: then the same versions are asked for.
func (i *Installer) fetch(ctx context.Context, stage *store.Stage, line *launcher.Line, pinned *lockfile.Entry) (*Result, error) {
	if line.Ecosystem() != launcher.NPM {
		return i.fetchPython(ctx, stage, line, pinned)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, errors.New("npm was not found in PATH: packages of npm are fetched by it. Install Node.js with npm, for example from your distribution (nodejs, npm)")
	}
	config, err := readNpmConfig(ctx, npm, i.Host.Home)
	if err != nil {
		return nil, err
	}
	j := &fetchJail{host: i.Host, dir: stage.Dir, registries: config.registry, variables: map[string]string{}, launcher: confine.Launcher{}}
	work, cache := filepath.Join(j.home(), "work"), filepath.Join(j.home(), "cache")
	if err := prepare(work, filepath.Join(cache, "_cacache")); err != nil {
		return nil, err
	}
	if config.cache != "" {
		if err := seedCache(config.cache, filepath.Join(cache, "_cacache")); err != nil {
			return nil, fmt.Errorf("npm's cache cannot be used: %w", err)
		}
		j.readable = append(j.readable, filepath.Join(config.cache, "content-v2"))
	}
	j.setNPM(config, cache)
	specs := specsOf(line)
	if pinned != nil {
		// The tree as it was when it was pinned: what was published since does not count.
		specs = []string{pinned.Name + "@" + pinned.Version}
		j.variables["npm_config_before"] = pinned.Pinned.UTC().Format(time.RFC3339)
		delete(j.variables, "npm_config_min_release_age")
	}
	refused, err := i.runNPM(ctx, j, append([]string{npm, "install", "--prefix", work, "--ignore-scripts"}, specs...), true, Fetching)
	if err != nil {
		return nil, err
	}
	r, err := i.collect(ctx, stage, line, j, npm, work)
	if r != nil {
		r.Refused = append(refused, r.Refused...)
	}
	return r, err
}

// specsOf returns the packages of a line as npm takes them.
func specsOf(line *launcher.Line) (specs []string) {
	for _, p := range line.Packages {
		specs = append(specs, p.Raw)
	}
	return specs
}

// runNPM runs npm in the jail.
func (i *Installer) runNPM(ctx context.Context, j *fetchJail, argv []string, network bool, step Step) ([]policy.Denial, error) {
	stop := i.report(step, j.home())
	defer stop()
	var output bytes.Buffer
	status, refused, err := j.run(ctx, io.MultiWriter(&output, i.told()), network, argv...)
	if err == nil && status != 0 {
		err = &FetchError{Command: argv[1:], Status: status, Output: output.String(), Refused: refused}
	}
	return refused, err
}

func (i *Installer) told() io.Writer {
	if i.Told == nil {
		return io.Discard
	}
	return i.Told
}

// prepare makes an empty project, and the cache's directory. What an interrupted installation
// unpacked goes; what it fetched stays in the cache.
func prepare(work, cache string) error {
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o700), os.MkdirAll(cache, 0o700)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(work, "package.json"), []byte("{\"private\": true}\n"), 0o600)
}

// setNPM sets the variables that configure npm in the jail.
func (j *fetchJail) setNPM(config *npmConfig, cache string) {
	settings := maps.Clone(config.settings)
	maps.Copy(settings, map[string]string{
		"cache": cache, "audit": "false", "fund": "false", "update-notifier": "false", "ignore-scripts": "true", "logs-max": "0",
		"prefer-offline": "true", "fetch-retries": "1", "fetch-retry-mintimeout": "1000", "fetch-retry-maxtimeout": "5000", "progress": "false", "loglevel": "notice",
		"omit-lockfile-registry-resolved": "true", "save-exact": "true", "install-links": "true", "userconfig": "/dev/null", "globalconfig": "/dev/null/none",
	})
	for name, value := range settings {
		j.variables["npm_config_"+strings.ReplaceAll(name, "-", "_")] = value
	}
	for name, value := range config.authLines {
		j.variables["npm_config_"+name] = value
	}
	if file := config.settings["cafile"]; filepath.IsAbs(file) {
		j.readable = append(j.readable, file)
	}
}

// FetchError reports that the installer failed.
type FetchError struct {
	Command []string // of npm
	Status  int
	Output  string // of the installer
	Refused []policy.Denial
}

// npmCode finds npm's name of an error.
var npmCode = regexp.MustCompile(`(?m)^npm (?:error|ERR!) code (\S+)`)

func (e *FetchError) Error() string {
	what := e.Command[len(e.Command)-1]
	code := ""
	if m := npmCode.FindStringSubmatch(e.Output); m != nil {
		code = m[1]
	}
	switch code {
	case "E404":
		return what + " is not in the registry (E404): check the spelling of the package"
	case "ETARGET":
		return what + ": the registry has no such version (ETARGET)"
	case "EINTEGRITY":
		return what + ": a file from the registry is not the one that its metadata names (EINTEGRITY). Nothing was installed"
	case "E401", "E403":
		return what + ": the registry refuses access (" + code + "): log in with npm login, or check the registry in your npm configuration"
	case "ENOSPC":
		return what + ": the disk is full (ENOSPC). What was installed before is as it was"
	case "EAI_AGAIN", "ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ERR_SOCKET_TIMEOUT", "ENETUNREACH":
		return what + ": the registry cannot be reached (" + code + "). What was fetched is kept, and the next start continues"
	case "":
		return fmt.Sprintf("%s: npm ended with status %d\n%s", what, e.Status, tail(e.Output))
	}
	return fmt.Sprintf("%s: npm failed with %s\n%s", what, code, tail(e.Output))
}

// tail returns the last lines of a text.
func tail(text string) string {
	const lines = 8
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
