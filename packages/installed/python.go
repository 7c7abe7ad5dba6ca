package installed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/packages/python"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/runtime"
)

// python fills in how a program of PyPI is started: the starter of an entry point by Python,
// another program of the tree directly. The starter finds its packages by itself; package
// python has the layout of the tree.
func (f Finder) python(ctx context.Context, p *Program, line *runline.Line) error {
	name := line.Program
	if name == "" {
		name = p.Entry.Program
	}
	p.Bin = filepath.Join(p.Dir, "bin")
	file := filepath.Join(p.Bin, filepath.Base(name))
	head, err := readHead(file)
	if err != nil || name == "" || filepath.Base(name) != name {
		return f.noProgram(ctx, p, name)
	}
	p.Arguments = line.Args
	if !python.IsStarter(head) {
		p.Command = file
		return nil
	}
	// -s and -B: neither the user's own packages, nor files written beside the modules.
	p.Arguments = append([]string{"-s", "-B", file}, line.Args...)
	// Its path, without links: a tree does not take part in a virtual environment that PATH leads into.
	chosen, err := f.interpreter(ctx, p, runtime.Python, runtime.PythonFits)
	var missing *runtime.MissingError
	if errors.As(err, &missing) { // the one that it was installed for is gone
		err = fmt.Errorf("%w: %w", err, ErrNotInstalled)
	}
	p.Command = chosen.Path
	return err
}

func (f Finder) noProgram(ctx context.Context, p *Program, name string) error {
	e := &python.ProgramError{Package: p.Entry.Name, Program: name}
	entries, err := os.ReadDir(p.Bin)
	if err != nil {
		return p.Check(ctx) // it tells what is missing
	}
	for _, there := range entries {
		e.Names = append(e.Names, there.Name())
	}
	slices.Sort(e.Names)
	return e
}

func readHead(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 128)
	n, err := io.ReadFull(f, head)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = nil
	}
	return head[:n], err
}
