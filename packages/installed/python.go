package installed

import (
	"context"
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/packages/launcher"
	"github.com/mcp-jail/mcp-jail/packages/runtime"
)

// python fills in how a program of PyPI is started. The tree is a directory of modules, made by
// an installation with a target; File is the module function of the entry point, and a small
// script in the tree calls it.
func (f Finder) python(ctx context.Context, p *Program, line *launcher.Line) (err error) {
	p.Command, err = f.interpreter(ctx, runtime.Python, p.Entry.Engines, runtime.PythonFits)
	if err != nil {
		return err
	}
	if p.Command == string(runtime.Python) {
		p.Command = "python3"
	}
	p.Bin = filepath.Join(p.Dir, "bin")
	p.Env = append(p.Env, "PYTHONPATH="+filepath.Join(p.Dir, "site"), "PYTHONNOUSERSITE=1")
	p.Arguments = append([]string{"-s", filepath.Join(p.Dir, filepath.FromSlash(p.Entry.File))}, line.Args...)
	return nil
}
