package download

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Word begins the arguments of mcp-jail-cli in the jail.
const Word = "fetch-in-jail"

// Main is the program in the jail: see the package's documentation. It returns the exit status.
func Main(args []string) int {
	if len(args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: NPM DIRECTORY SPEC...")
		return 2
	}
	j := &job{npm: args[0], work: args[1], specs: args[2:]}
	status, err := j.install()
	if err == nil {
		return status
	}
	os.RemoveAll(j.unpacked())
	os.RemoveAll(filepath.Join(j.work, "node_modules"))
	return j.runNPM()
}

// job is one installation.
type job struct {
	npm, work string
	specs     []string
	registry  *registry
}

// unpacked is where archives are unpacked before their places are known. A progress display counts
// the files in the directory of the tree.
func (j *job) unpacked() string { return filepath.Join(j.work, ".unpacked") }

// errOther says that npm must install the tree.
var errOther = errors.New("npm installs it")

// install returns npm's status if npm has resolved, or failed to. An error means that npm is to
// install.
func (j *job) install() (status int, err error) {
	if j.registry, err = newRegistry(os.Getenv); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(j.unpacked(), 0o700); err != nil {
		return 0, err
	}
	w := newWalk(j.registry, j.unpacked())
	defer w.end()
	if err := w.from(j.specs); err != nil {
		return 0, err
	}
	if status := j.runNPM("--package-lock-only"); status != 0 {
		return status, nil
	}
	tree, err := readTree(filepath.Join(j.work, "package-lock.json"))
	if err != nil {
		return 0, err
	}
	if err := w.need(tree); err != nil {
		return 0, err
	}
	if err := place(tree, w, j.work); err != nil {
		return 0, err
	}
	w.end()
	return 0, os.RemoveAll(j.unpacked())
}

func (j *job) runNPM(flags ...string) int {
	args := append([]string{"install", "--prefix", j.work, "--ignore-scripts"}, flags...)
	cmd := exec.Command(j.npm, append(append(args, "--"), j.specs...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		return 127
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()) // as the jail tells it
	}
	return cmd.ProcessState.ExitCode()
}
