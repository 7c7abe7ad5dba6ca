package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

const module = "github.com/mcp-jail/mcp-jail"

// programs are the paths of the three programs.
type programs struct{ jail, notes, thief string }

// build builds the programs that have no path yet in dir, and returns the absolute paths of all.
func (p programs) build(ctx context.Context, dir string) (programs, error) {
	for _, program := range []struct {
		path *string
		pkg  string
	}{
		{&p.jail, "cmd/mcp-jail"},
		{&p.notes, "examples/servers/notes"},
		{&p.thief, "examples/servers/thief"},
	} {
		if *program.path != "" {
			absolute, err := filepath.Abs(*program.path)
			if err != nil {
				return p, err
			}
			*program.path = absolute
			continue
		}
		*program.path = filepath.Join(dir, filepath.Base(program.pkg))
		if runtime.GOOS == "windows" {
			*program.path += ".exe"
		}
		fmt.Fprintf(os.Stderr, "demo: building %s\n", program.pkg) // Go is silent, the first time for a minute
		command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", *program.path, module+"/"+program.pkg)
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := command.CombinedOutput(); err != nil {
			return p, fmt.Errorf("building %s (run this inside the repository, or say where the program is with a flag): %w\n%s", program.pkg, err, output)
		}
	}
	return p, nil
}
