package session

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/wrapper"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/presets"
)

// LoadConfig reads the configuration as [config.Load] does, and lays the preset that a server
// names below its table. It fits the preset to the arguments of the server and to the variables
// of the host. An unknown preset is one of [policy.Problems].
func LoadConfig(o config.LoadOptions, host hostfs.Host) (*config.Config, error) {
	cfg, err := config.Load(o)
	if err != nil {
		return nil, err
	}
	if err := LayPresets(cfg, host); err != nil {
		return nil, err
	}
	return cfg, nil
}

// LoadTrusted reads the configuration as LoadConfig does, but leaves out a project's file that is
// not trusted. ignored names that file. A start stops instead, since a project's file may also
// take rights away.
func LoadTrusted(o config.LoadOptions, host hostfs.Host) (cfg *config.Config, ignored *config.UntrustedError, err error) {
	if cfg, err = LoadConfig(o, host); err == nil {
		return cfg, nil, nil
	}
	if !errors.As(err, &ignored) && len(o.Files) == 0 && o.Project == nil {
		// The user cannot have trusted a file that cannot be read.
		name, abs := filepath.Abs(filepath.Join(o.Workspace, config.ProjectFile))
		if _, err := config.ReadConfigFile(name); abs == nil && err != nil && !errors.Is(err, fs.ErrNotExist) {
			ignored = &config.UntrustedError{File: name}
		}
	}
	if ignored != nil {
		o.Project = []byte("version = 1\n")
		cfg, err = LoadConfig(o, host)
	}
	return cfg, ignored, err
}

// LayPresets lays the presets that the servers of a configuration name below their tables. It
// leaves no server out: what one server may write decides what another may trust.
func LayPresets(cfg *config.Config, host hostfs.Host) error {
	var problems policy.Problems
	for _, name := range cfg.ServerNames() {
		s := cfg.Servers[name]
		if s.Preset == "" || s.ID != "" { // the file of an id has what its preset gave
			continue
		}
		f, err := fitPreset(s, cfg.DeclaredTools(name), host)
		if err != nil {
			problems = append(problems, s.PresetProblem(err))
			continue
		}
		cfg.LayBelow(name, f.Server, f.Warnings...)
	}
	return problems.Err()
}

// fittedPreset is the table of a preset, fitted to a server.
type fittedPreset struct {
	Server   *config.Server
	Warnings []policy.Warning // about what the user must decide
}

// fitPreset fits the preset that a server names to its command line and to the variables of a
// host. For a stateless server, it gives the preset's table to the tools that only read, and to
// those in declared. The error says that there is no such preset.
func fitPreset(s *config.Server, declared []string, host hostfs.Host) (*fittedPreset, error) {
	p, err := presets.Find(s.Preset)
	if err != nil {
		var unknown *presets.UnknownError
		if errors.As(err, &unknown) && unknown.Near == "" {
			return nil, errors.New(err.Error() + "; `mcp-jail preset` lists them")
		}
		return nil, err
	}
	applied := p.For(entryOf(p, append([]string{s.Command}, s.Arguments...), host))
	f := &fittedPreset{Server: applied.Server}
	warn := func(text string) {
		f.Warnings = append(f.Warnings, policy.Warning{Code: "preset", Message: "preset " + p.Name + ": " + text, Where: s.PresetWhere})
	}
	for _, open := range applied.Open {
		if open.Name == "rest" {
			open.Name = "an argument"
		}
		warn(open.String())
	}
	if dir := expand(s.Workspace, host); host.OS != "darwin" && inPrivateDir(dir) && presets.Narrow(applied.Server) && !writesAll(s) {
		warn("the server may only read " + show.Line(dir) + ": below /tmp and /dev/shm, which a jail has for itself, one kind of writing cannot be granted without the others. --write . grants all, or move the directory")
	}
	if !s.IsStateful() {
		if p.Stateful {
			warn("its calls may depend on one another, which stateful = false takes away")
		}
		f.Server = forTools(f.Server, append(declared, p.ReadOnly...))
	}
	return f, nil
}

// inPrivateDir reports whether a directory lies below one that every jail has for itself on Linux.
func inPrivateDir(dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir != "/tmp" && policy.Within(dir, "/tmp") || dir != "/dev/shm" && policy.Within(dir, "/dev/shm")
}

// writesAll reports whether a rule of the server's own grants writing in its directory.
func writesAll(s *config.Server) bool {
	return s.Access != nil && slices.ContainsFunc(s.Access.Fs, func(r policy.FsRule) bool { return r.Path == "." && r.Create && r.Update && r.Delete })
}

func forTools(s *config.Server, tools []string) *config.Server {
	if s.Access == nil {
		return s
	}
	s.Tools = map[string]*config.Tool{}
	for _, name := range tools {
		s.Tools[name] = &config.Tool{Access: s.Access, Where: s.Where}
	}
	s.Access = nil
	return s
}

// PresetError is the error about --preset in the line of a server.
func PresetError(name string) error {
	return terminal.UsageErrorf("--preset %s: a preset is for a server with an id, or for a table. Your entries get theirs from `mcp-jail wrap`. For a line that you type, name the hosts that %s lists, with --net HOST", policy.Abbreviate(name), show.Typed("mcp-jail preset", name))
}

// inJail is what a preset adds to the start of a server because it runs in a jail.
type inJail struct{ env, args []string }

// findInJail finds what the preset of a target adds to the line of the user. A client's file does not have
// it: unwrapped, the server does not get it either.
func findInJail(t *Target) (j inJail) {
	p, err := presets.Find(t.Preset())
	if err != nil {
		return j
	}
	applied := p.For(entryOf(p, t.given, t.Host))
	j.args = applied.Args
	for _, name := range slices.Sorted(maps.Keys(applied.Env)) {
		j.env = append(j.env, name+"="+applied.Env[name])
	}
	return j
}

func (j inJail) use(p *policy.Policy) {
	p.Arguments = slices.Concat(p.Arguments, j.args)
	p.Packages.Env = slices.Concat(p.Packages.Env, j.env)
}

// Preset returns the name of the preset that is below the server of a target, or "".
func (t *Target) Preset() string {
	if t.Config == nil {
		return ""
	}
	if s := t.Config.Servers[t.Policy.Server]; s != nil {
		return s.Preset
	}
	return ""
}

// entryOf returns the command line and the variables of the host as a preset needs them. It
// leaves out variables that the preset does not name, and those without a value.
func entryOf(p *presets.Preset, argv []string, host hostfs.Host) presets.Entry {
	words, set := serverWords(argv)
	e := presets.Entry{Args: words, Env: map[string]string{}, Glob: hostfs.Glob(host.Home), Home: host.Home}
	for _, v := range p.Variables {
		value, _ := host.Getenv(v.Name)
		for _, a := range set {
			if a.Name == v.Name {
				value = a.Value
			}
		}
		if value != "" {
			e.Env[v.Name] = value
		}
	}
	return e
}

// PresetTable returns what a preset grants to the server of a resolved target.
func PresetTable(t *Target, name string) (*config.Server, error) {
	p, err := presets.Find(name)
	if err != nil {
		return nil, err
	}
	argv := t.givenCommand()
	if err := p.Lists(argv); err != nil {
		return nil, err
	}
	f, err := fitPreset(&config.Server{Preset: name, Command: argv[0], Arguments: argv[1:], Workspace: t.Policy.Workspace}, nil, t.Host)
	if err != nil {
		return nil, err
	}
	return f.Server, nil
}

// startsAnother reports whether a command line is of a program that starts the server, or has it started.
func startsAnother(argv []string) bool {
	_, isLauncher := wrapper.LauncherOf(argv)
	_, where := wrapper.Elsewhere(argv)
	return isLauncher || where != "" || wrapper.Is(wrapper.ProgramName(argv[0]))
}

// serverWords returns the words of a command line that the server itself gets, and the variables
// that the line sets. The words are those after the package of a launcher, after the script of
// an interpreter, or after the program. If this is not certain, it returns none, because a
// preset makes rules of the words.
func serverWords(argv []string) (words []string, set []runline.Assignment) {
	line, err := runline.Parse(argv)
	switch {
	case err == nil:
		return line.Args, line.Env
	case !errors.Is(err, runline.ErrNotLauncher), len(argv) == 0, startsAnother(argv):
		return nil, nil
	}
	program := path.Base(argv[0])
	lang := policy.InterpreterFamily(program)
	if lang == "" && !policy.IsShell(program) {
		return argv[1:], nil
	}
	script := policy.ScriptArgument(lang, argv[1:])
	if script == "" && lang == "python" { // a module: python -m NAME
		if i := slices.Index(argv, "-m"); i > 0 && i+1 < len(argv) {
			script = argv[i+1]
		}
	}
	i := slices.Index(argv[1:], script)
	if script == "" || i < 0 || strings.HasPrefix(script, "-") {
		return nil, nil
	}
	return argv[i+2:], nil
}
