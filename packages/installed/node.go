package installed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/runtime"
)

func (f Finder) node(ctx context.Context, p *Program, line *runline.Line) error {
	name := p.Entry.Name
	dir := filepath.Join(p.Dir, "node_modules", filepath.FromSlash(name))
	start, err := npm.Program(os.DirFS(dir), line.Program)
	if err != nil && len(line.Packages) > 1 { // another line with the same packages has made the pin
		name, start, err = npm.RootProgram(os.DirFS(p.Dir), line.Names(), line.Program)
	}
	if err != nil {
		return err
	}
	dir = filepath.Join(p.Dir, "node_modules", filepath.FromSlash(name))
	file := filepath.Join(dir, filepath.FromSlash(start.Entry))
	p.OwnEnv = start.Env
	p.Bin = filepath.Join(p.Dir, "node_modules", ".bin")
	switch start.Kind {
	case npm.Node:
		var chosen runtime.Interpreter
		chosen, err = f.interpreter(ctx, p, runtime.Node, npm.EngineFits)
		if p.Command = chosen.Path; chosen.Default {
			p.Command = string(runtime.Node)
		}
		p.Arguments = append(append(p.Arguments, start.NodeArgs...), file)
	case npm.Direct:
		p.Command = file
	case npm.Interpreter:
		p.Command = userInterpreter(start.Interpreter)
		p.Arguments = append(append(p.Arguments, start.InterpreterArgs...), file)
	default:
		err = fmt.Errorf("%s is a program of the kind %q, which cannot be started", file, start.Kind)
	}
	p.Arguments = append(p.Arguments, line.Args...)
	return err
}

// userInterpreter returns the interpreter of a #! line. If its path is not in a directory of the
// system, only the file name counts, and PATH says where it is: the publisher of a package does
// not choose among the user's files.
func userInterpreter(name string) string {
	for _, dir := range [...]string{"/usr/", "/bin/", "/sbin/"} {
		if strings.HasPrefix(filepath.Clean(name), dir) {
			return name
		}
	}
	return filepath.Base(name)
}

// interpreter returns the interpreter that fits the package, without links. One that a server may write never
// fits. The usual case asks none: it is PATH's own, with a remembered version, and for a package that takes
// any version of node without one.
func (f Finder) interpreter(ctx context.Context, p *Program, lang runtime.Language, fits func(rng, version string) (bool, error)) (runtime.Interpreter, error) {
	versions := openVersions(f.Host, f.Waive)
	defer versions.save()
	rng := p.Entry.Engines
	named, file, version := versions.locate(lang)
	if named != "" && f.Untrusted != nil {
		if why := f.Untrusted(named); why != "" {
			p.NotUsed = named + " is not used: " + why
		}
	}
	if p.NotUsed == "" {
		fitting, err := fits(rng, version)
		if lang == runtime.Node && rng == "" || version != "" && err == nil && fitting {
			return runtime.Interpreter{Language: lang, Path: file, Version: version, Default: true}, nil
		}
	}
	found, err := versions.find(ctx, f.Untrusted, lang)
	if err != nil {
		return runtime.Interpreter{}, err
	}
	return found.Choose(rng, fits)
}
