package wrapping

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping/internal/meaning"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/presets"
)

// start returns what decides which code an entry runs. host is as the entry's file sees it, and
// fromFile are the variables of its file of variables.
func (s Entry) start(host clients.Host, fromFile []string) presets.Start {
	start := s.startOf(s.Argv(), host, fromFile)
	if p := s.by.plugin; p != nil {
		start.Brought = p.Brought()
	}
	return start
}

func (s Entry) startOf(argv []string, host clients.Host, fromFile []string) presets.Start {
	start := presets.Start{Argv: slices.Clone(argv), Env: s.values(s.by.client, host), Project: host.Project, Through: hostfs.Through}
	if len(start.Argv) > 0 {
		if program, ok := meaning.Replaced(s.by.client, start.Argv[0], host); ok {
			start.Argv[0] = program
		}
	}
	for _, name := range fromFile {
		start.Env[name] = "of " + s.EnvFile
	}
	// npx and uvx run a program of the directory in place of the package, if it has one.
	if line, err := runline.Parse(start.Argv); err == nil && filepath.IsAbs(s.dir(host)) && (host.Project != "" || s.by.plugin != nil) {
		start.Instead = insteadOf(&line, s.dir(host), host)
	}
	return start
}

func (s Entry) dir(host clients.Host) string {
	dir, ok := meaning.Replaced(s.by.client, s.Cwd, host)
	if !ok || !filepath.IsAbs(dir) {
		dir = filepath.Join(host.Project, dir)
	}
	return dir
}

func insteadOf(line *runline.Line, dir string, host clients.Host) string {
	local, err := hostfs.LocalHost()
	if err != nil {
		return "what a directory has that is not known: " + err.Error()
	}
	local.Home = host.Home
	local.ConfigDir, local.StateDir, local.CacheDir, local.DataDir = hostfs.StandardDirs(&local)
	local.Dir = dir
	return installed.FinderFor(&local).Instead(line)
}

// Unfit returns why an entry that is wrapped does not start with its preset, or nil. granted are the
// variables that its flags grant.
func (f *File) Unfit(e Entry, argv []string, preset string, granted []string, host clients.Host) error {
	p, err := presets.Find(preset)
	if err != nil {
		return err
	}
	host = f.within(host)
	fromFile, _, _ := e.fileNames(e.by.client, host)
	start := e.startOf(argv, host, fromFile)
	maps.DeleteFunc(start.Env, func(name, _ string) bool { return !slices.Contains(granted, name) })
	return p.Fits(start)
}

// withhold notes that an entry does not get the preset of its package, and returns the variables
// that it gets all the same. Its secrets belong to the package.
func (g *Grant) withhold(p *presets.Preset, names []string) []string {
	g.Withheld = p.Name
	g.Notes = append(g.Notes, fmt.Sprintf("the preset %s is not granted, because the entry brings its own code: %s", p.Name, strings.Join(g.Brings, ", ")))
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		v, known := p.Variable(name)
		if known && v.Secret {
			g.Notes = append(g.Notes, "the variable "+name+" is not granted, because it is a secret: add --env "+name)
		}
		return known && v.Secret
	})
}

// Declined is the reason why an entry is left that the user did not want to be wrapped without its
// preset.
const Declined clients.Reason = "stays as it is, as you have chosen"

// Leave leaves an entry of the file.
func (f *File) Leave(key string, why clients.Reason) {
	for i := range f.Entries {
		if f.Entries[i].Key() == key {
			f.Entries[i].Left, f.Entries[i].Detail = why, ""
		}
	}
}

// Program is mcp-jail as the files of clients name it.
type Program struct {
	Path string   // absolute; the one that is written
	Also []string // other absolute paths of it, which older entries may name
}

func (p Program) is(path string) bool {
	theirs, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(append([]string{p.Path}, p.Also...), func(own string) bool {
		ours, err := os.Stat(own)
		return err == nil && os.SameFile(theirs, ours)
	})
}
