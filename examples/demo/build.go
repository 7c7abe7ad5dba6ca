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
	for pkg, path := range map[string]*string{"cmd/mcp-jail": &p.jail, "examples/servers/notes": &p.notes, "examples/servers/thief": &p.thief} {
		var err error
		if *path == "" {
			*path, err = build(ctx, pkg, dir)
		} else {
			*path, err = filepath.Abs(*path)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

func build(ctx context.Context, pkg, dir string) (string, error) {
	program := filepath.Join(dir, filepath.Base(pkg))
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	fmt.Fprintf(os.Stderr, "demo: building %s\n", pkg) // Go is silent, the first time for a minute
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", program, module+"/"+pkg)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // it then removes its own files
	command.WaitDelay = endPatience
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s (run this inside the repository): %w\n%s", pkg, err, output)
	}
	return program, nil
}
