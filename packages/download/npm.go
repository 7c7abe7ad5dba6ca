package download

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

func (j *job) command(flags ...string) *exec.Cmd {
	args := append([]string{"install", "--prefix", j.work, "--ignore-scripts"}, flags...)
	cmd := exec.Command(j.npm, append(append(args, "--"), j.specs...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

func (j *job) runNPM(flags ...string) int {
	cmd := j.command(flags...)
	return statusOf(cmd, cmd.Run())
}

// statusOf returns the exit status of npm, as the jail tells it for a program that a signal ended.
func statusOf(cmd *exec.Cmd, err error) int {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		return 127
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// gate is what node loads before npm. It loads the modules of npm that take the longest, and waits for
// the end of a pipe: then the metadata are in npm's cache. What goes wrong here only takes time.
const gate = `const pipe = Number(process.env.MCP_JAIL_GATE)
delete process.env.MCP_JAIL_GATE
delete process.env.NODE_OPTIONS
const fs = require("fs")
try {
	const load = require("module").createRequire(fs.realpathSync(process.argv[1]))
	for (const name of ["../lib/npm.js", "@npmcli/arborist", "pacote"]) {
		try { load(name) } catch {}
	}
} catch {}
try { while (fs.readSync(pipe, Buffer.alloc(1)) > 0) {} } catch {}
`

// waiting is an npm that waits at the gate.
type waiting struct {
	cmd  *exec.Cmd
	gate *os.File // its end lets npm go on
}

func (j *job) prepare(flags ...string) (*waiting, error) {
	file := filepath.Join(j.unpacked(), "gate.cjs")
	if err := os.WriteFile(file, []byte(gate), 0o600); err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	cmd := j.command(flags...)
	cmd.ExtraFiles = []*os.File{read} // number 3
	cmd.Env = append(os.Environ(), "NODE_OPTIONS=--require="+strconv.Quote(file), "MCP_JAIL_GATE=3")
	if err := cmd.Start(); err != nil {
		write.Close()
		return nil, err
	}
	return &waiting{cmd, write}, nil
}

func (w *waiting) run() int {
	w.gate.Close()
	return statusOf(w.cmd, w.cmd.Wait())
}

func (w *waiting) stop() {
	w.cmd.Process.Kill()
	w.gate.Close()
	w.cmd.Wait()
}
