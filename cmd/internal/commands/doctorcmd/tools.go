package doctorcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/gaps"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/jail"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/runtime"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A tool is a program that servers need: an interpreter, or what fetches packages.
type tool struct {
	Name    string   `json:"name"`
	Path    string   `json:"path,omitempty"` // "" if it is missing
	Version string   `json:"version,omitempty"`
	Of      string   `json:"of,omitempty"` // the version manager that has it
	For     []string `json:"for"`          // the servers that need it

	found runtime.Found
	why   string // why it is missing
}

// oldestNPM is the first version whose lock file names the whole tree: package install.
const oldestNPM = 7

// lookTools looks for what the lines of packages need.
func (i *installation) lookTools(ctx context.Context) {
	users := map[runline.Ecosystem][]string{}
	for _, s := range i.starts {
		if s.isLine && !s.startsNothing() && !slices.Contains(users[s.line.Ecosystem()], s.Server) {
			users[s.line.Ecosystem()] = append(users[s.line.Ecosystem()], s.Server)
		}
	}
	if names := users[runline.NPM]; names != nil {
		i.tools = append(i.tools, i.lookInterpreter(ctx, runtime.Node, names, i.waivers(runline.NPM)), i.lookNPM(names))
	}
	if names := users[runline.PyPI]; names != nil {
		python := i.lookInterpreter(ctx, runtime.Python, names, i.waivers(runline.PyPI))
		i.tools = append(i.tools, python, i.lookPythonInstaller(ctx, python, names, i.waivers(runline.PyPI)))
	}
	var docker []string
	for _, s := range i.starts {
		var away *runline.ElsewhereError
		if _, err := runline.Parse(s.argv); errors.As(err, &away) && strings.HasPrefix(away.Program, "docker") {
			docker = append(docker, s.Server)
		}
	}
	if docker != nil {
		i.tools = append(i.tools, i.lookDocker(ctx, docker))
	}
	if i.host.OS == "darwin" {
		if git, ok := i.lookGit(ctx); ok {
			i.tools = append(i.tools, git)
		}
	}
}

// waivers returns what a server whose package is of an ecosystem waives: the longest list of those that
// the user has accepted. Its start asks interpreters for their version with that.
func (i *installation) waivers(of runline.Ecosystem) (longest []policy.Axis) {
	for _, s := range i.starts {
		if !s.isLine || !gaps.AreAccepted(s.of, s.entry) || s.line.Ecosystem() != of || !s.isJailed() {
			continue
		}
		flags, err := cmdline.ParseRun(append([]string{"run"}, s.verdict.Line.Flags...))
		if err != nil {
			continue
		}
		axes, err := cmdline.ParseWaivers("--waive", flags.Waive)
		if err != nil {
			continue
		}
		if s.isConfigured {
			if p, err := i.config.Policy(flags.Server, ""); err == nil {
				axes = append(axes, p.Waive...)
			}
		}
		if len(axes) > len(longest) {
			longest = axes
		}
	}
	return longest
}

func (i *installation) lookInterpreter(ctx context.Context, lang runtime.Language, names []string, waive []policy.Axis) tool {
	t := tool{Name: string(lang), For: names}
	var err error
	if t.found, err = installed.Interpreters(ctx, &i.host, waive, nil, lang); err != nil {
		t.why = err.Error()
		return t
	}
	chosen, err := t.found.Choose("", runtime.PythonFits)
	var refused *jail.HostError
	switch {
	case errors.As(err, &refused):
		t.why = "the version of " + t.Name + " is not known: it is asked in a jail, and no server of that kind waives what this host cannot hold"
		return t
	case err != nil:
		t.why = err.Error()
		return t
	}
	t.Path, t.Version = chosen.Path, chosen.Version
	if from := chosen.Sources[0]; from != "PATH" {
		t.Of = from
	}
	for _, m := range i.host.VersionManagers() {
		if m.Language == string(lang) && hostfs.Within(i.host.OS, chosen.Path, m.Root) && (m.Root != "/usr/local/n" || strings.HasPrefix(chosen.Path, m.Versions)) {
			t.Of = m.Name
		}
	}
	return t
}

func (i *installation) lookNPM(names []string) tool {
	t := tool{Name: "npm", For: names, Path: findProgram(i.searchPath(), "npm")}
	if t.Path == "" {
		t.why = "npm was not found in PATH"
		return t
	}
	dirs := []string{filepath.Join(filepath.Dir(filepath.Dir(t.Path)), "lib/node_modules/npm")}
	if real, err := filepath.EvalSymlinks(t.Path); err == nil {
		dirs = append([]string{filepath.Dir(filepath.Dir(real))}, dirs...)
	}
	for _, dir := range dirs {
		if t.Version = i.npmVersion(filepath.Join(dir, "package.json")); t.Version != "" {
			break
		}
	}
	return t
}

// npmVersion returns the version of the npm of a package.json, or "".
func (i *installation) npmVersion(file string) string {
	var manifest struct{ Name, Version string }
	text, err := i.host.ReadHead(file, 1<<20)
	if err != nil || json.Unmarshal(text, &manifest) != nil || manifest.Name != "npm" {
		return ""
	}
	return manifest.Version
}

// lookPythonInstaller returns what fetches packages of Python: uv, or else the pip of the interpreter.
func (i *installation) lookPythonInstaller(ctx context.Context, python tool, names []string, waive []policy.Axis) tool {
	t := tool{Name: "uv", For: names, Path: findProgram(i.searchPath(), "uv")}
	if t.Path != "" {
		t.Version = askVersion(ctx, i, waive, t.Path)
		return t
	}
	t.Name = "pip"
	version := strings.SplitN(python.Version, ".", 3)
	if python.Path == "" || len(version) < 2 {
		t.why = "uv was not found in PATH"
		return t
	}
	prefix := filepath.Dir(filepath.Dir(python.Path))
	for _, lib := range []string{prefix + "/lib", prefix + "/lib64", "/usr/local/lib", "/usr/lib"} {
		for _, below := range []string{"python" + version[0] + "." + version[1] + "/site-packages/pip", "python" + version[0] + "." + version[1] + "/dist-packages/pip", "python3/dist-packages/pip"} {
			if info, err := os.Stat(filepath.Join(lib, below)); err == nil && info.IsDir() {
				t.Path = filepath.Join(lib, below)
				t.Version = i.pipVersion(t.Path)
				return t
			}
		}
	}
	t.why = "uv was not found in PATH, and no pip for " + i.short(python.Path)
	return t
}

// pipVersion reads the version of pip from its own file.
func (i *installation) pipVersion(dir string) string {
	text, err := i.host.ReadHead(filepath.Join(dir, "__init__.py"), 4096)
	if err != nil {
		return ""
	}
	_, rest, ok := strings.Cut(string(text), `__version__ = "`)
	if !ok {
		return ""
	}
	version, _, _ := strings.Cut(rest, `"`)
	return version
}

func (i *installation) lookDocker(ctx context.Context, names []string) tool {
	for _, name := range []string{"docker", "podman"} {
		if path := findProgram(i.searchPath(), name); path != "" {
			return tool{Name: name, For: names, Path: path, Version: askVersion(ctx, i, nil, path)}
		}
	}
	return tool{Name: "docker", For: names, why: "docker was not found in PATH"}
}

// askVersion asks a program for its version in a jail. It returns "" where that cannot be made.
func askVersion(ctx context.Context, i *installation, waive []policy.Axis, path string) string {
	text, err := jail.AskVersion(ctx, &i.host, waive, path)
	if err != nil {
		return ""
	}
	return runtime.VersionIn(text)
}

func (i *installation) checkTools() (all []finding) {
	for _, t := range i.tools {
		if t.Name == "git" {
			all = append(all, t.checkGit()...)
			continue
		}
		f := finding{Check: "programs", Stops: true, What: t.why, Of: t.For, role: "needed by"}
		major, err := strconv.Atoi(strings.SplitN(t.Version, ".", 2)[0])
		switch {
		case t.Path == "" && t.Name == "npm":
			f.Why, f.Fix = "It fetches packages of npm. Servers whose packages are installed start without it", "install Node.js with npm, for example nodejs and npm of your distribution"
			f.Stops = !i.areFetched(runline.NPM)
		case t.Path == "" && t.Name == "pip":
			f.Why, f.Fix = "One of the two fetches packages of Python. Servers whose packages are installed start without it", "install uv, or pip for this Python (python3-pip)"
			f.Stops = !i.areFetched(runline.PyPI)
		case t.Path == "":
		case t.Name == "npm" && err == nil && major < oldestNPM:
			f.What, f.Why, f.Fix = fmt.Sprintf("%s is npm %s", i.short(t.Path), t.Version), fmt.Sprintf("Packages are installed with npm %d or newer", oldestNPM), "`npm install --global npm`"
		default:
			all = append(all, i.checkEngines(t)...)
			continue
		}
		all = append(all, f)
	}
	return all
}

// areFetched reports whether all packages of the entries are installed.
func (i *installation) areFetched(of runline.Ecosystem) bool {
	for _, s := range i.starts {
		if s.isLine && !s.startsNothing() && s.line.Ecosystem() == of && (i.stored == nil || !i.stored.Fetched(s.argv)) {
			return false
		}
	}
	return true
}

// checkEngines checks that an interpreter is new enough for the packages that are installed.
func (i *installation) checkEngines(t tool) (all []finding) {
	fits := npm.EngineFits
	if t.Name == string(runtime.Python) {
		fits = runtime.PythonFits
	} else if t.Name != string(runtime.Node) {
		return nil
	}
	for _, s := range i.starts {
		if !s.isLine || i.stored == nil || (s.line.Ecosystem() == runline.NPM) != (t.Name == string(runtime.Node)) {
			continue
		}
		pin := i.stored.PinOf(s.argv)
		if pin == nil || pin.Engines == "" {
			continue
		}
		if _, err := t.found.Choose(pin.Engines, fits); err != nil {
			all = append(all, finding{Check: "programs", Stops: true, What: err.Error(), Of: []string{s.name()}, role: "needed by"})
		}
	}
	return all
}
