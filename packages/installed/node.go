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
		p.Command, err = f.interpreter(ctx, p, runtime.Node, p.Entry.Engines, npm.EngineFits)
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

// interpreter returns the interpreter for a range of versions: its plain name if the one that PATH
// gives fits or rng is "", and otherwise its path. One that a server may write never fits.
func (f Finder) interpreter(ctx context.Context, p *Program, lang runtime.Language, rng string, fits func(rng, version string) (bool, error)) (string, error) {
	versions := openVersions(f.Host, f.Waive)
	defer versions.save()
	return f.interpreterOf(ctx, versions, p, lang, rng, fits)
}

func (f Finder) interpreterOf(ctx context.Context, versions *versions, p *Program, lang runtime.Language, rng string, fits func(rng, version string) (bool, error)) (string, error) {
	// The usual case, without asking any interpreter: PATH's own, with a remembered version.
	if _, version, ok := f.ofPath(versions, p, lang); ok {
		if rng == "" {
			return string(lang), nil
		}
		if ok, err := fits(rng, version); version != "" && ok && err == nil {
			return string(lang), nil
		}
	}
	found, err := versions.find(ctx, f.Untrusted, lang)
	if err != nil {
		return "", err
	}
	chosen, err := found.Choose(rng, fits)
	if err != nil {
		return "", err
	}
	if chosen.Default {
		return string(lang), nil
	}
	return chosen.Path, nil
}

// ofPath returns the interpreter that PATH gives, without links, and its remembered version. ok reports
// that no server may write it. Otherwise it sets p.NotUsed.
func (f Finder) ofPath(versions *versions, p *Program, lang runtime.Language) (file, version string, ok bool) {
	named, file, version := versions.locate(lang)
	return file, version, f.trusts(named, p)
}
