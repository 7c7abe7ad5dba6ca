package download

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Word begins the arguments of mcp-jail-cli in the jail.
const Word = "fetch-in-jail"

// Main is the program in the jail: see the package's documentation. It returns the exit status.
func Main(args []string) int {
	if !jailed() {
		fmt.Fprintln(os.Stderr, "error: "+Word+" works in the jail of an installation only: type `mcp-jail install`")
		return 2
	}
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
	resolving, err := j.prepare("--package-lock-only")
	if err != nil {
		return 0, err
	}
	if err := w.from(j.specs); err != nil {
		resolving.stop()
		return 0, err
	}
	// All waits for npm, so one processor is left to it.
	all := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(1, all-1))
	status = resolving.run()
	runtime.GOMAXPROCS(all)
	if status != 0 {
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
