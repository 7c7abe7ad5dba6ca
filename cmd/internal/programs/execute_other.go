//go:build !unix && !windows

package programs

import (
	"errors"
	"os"
	"os/exec"
)

// execute runs another program as a child and exits with its status: this system cannot put
// it in the place of this process.
func execute(path string, argv, env []string) error {
	child := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := child.Run()
	var failed *exec.ExitError
	if err == nil || errors.As(err, &failed) {
		os.Exit(child.ProcessState.ExitCode())
	}
	return err
}
