package cmdline

import (
	"os"
	"os/exec"
	"os/signal"
)

// execute runs another program as a child and exits with its status: this system cannot put it in the
// place of this process. The child decides itself what an interrupt of the terminal does, which both get.
func execute(path string, argv, env []string) error {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	child := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if err := child.Start(); err != nil {
		return err
	}
	_ = child.Wait() // its status says it
	os.Exit(child.ProcessState.ExitCode())
	return nil
}
