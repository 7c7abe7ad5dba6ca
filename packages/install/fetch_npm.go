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

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// fetched is what an installer left in a stage.
type fetched struct {
	dir     string          // with package.json, package-lock.json and node_modules
	refused []policy.Denial // what the jail refused
}

// fetchNPM lets npm install specs into dir, the directory of a stage.
func fetchNPM(ctx context.Context, dir string, specs []string, told io.Writer) (*fetched, error) {
	host, err := hostfs.LocalHost()
	if err != nil {
		return nil, err
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, errors.New("npm was not found in PATH: packages of npm are fetched by it. Install Node.js with npm, for example from your distribution (nodejs, npm)")
	}
	config, err := readNpmConfig(ctx, npm, host.Home)
	if err != nil {
		return nil, err
	}
	j := &fetchJail{host: host, dir: dir, registries: config.registry, variables: map[string]string{}, launcher: confine.Launcher{}}
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
	var output bytes.Buffer
	argv := append([]string{npm, "install", "--prefix", work, "--ignore-scripts"}, specs...)
	status, refused, err := j.run(ctx, io.MultiWriter(&output, told), true, argv...)
	if err != nil {
		return nil, err
	}
	if status != 0 {
		return nil, &FetchError{Specs: specs, Status: status, Output: output.String(), Refused: refused}
	}
	return &fetched{dir: work, refused: refused}, nil
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
	Specs   []string
	Status  int
	Output  string // of the installer
	Refused []policy.Denial
}

// npmCode finds npm's name of an error.
var npmCode = regexp.MustCompile(`(?m)^npm (?:error|ERR!) code (\S+)`)

func (e *FetchError) Error() string {
	what := strings.Join(e.Specs, " ")
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
