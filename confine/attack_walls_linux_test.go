package confine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// One wall at a time. Production code has no way to leave a step out: what does
// is a copy of the test binary with a name of its own, which goes through the same
// steps in the same order, but for those of the other walls.

const behindName = "mcp-jail-behind" // puts up one wall without namespaces, then runs the program

// wallShim is ShimMain in copies of the test binary whose jails are one wall only:
// the name says which.
func wallShim() {
	self, _ := os.Readlink("/proc/self/exe")
	wall := world(strings.TrimPrefix(filepath.Base(self), "probe-"))
	if !isShim() || wall != wallNamespaces && wall != wallMediation {
		return
	}
	runtime.LockOSThread()
	s := newShim()
	steps := s.only(wallSteps[wall])
	for i := range steps {
		if steps[i].name == "landlock" { // for the supervisor alone
			steps[i].run = func() error { s.supervisor = newSupervisor(s); return nil }
		}
	}
	s.lead(steps)
}

// only returns the named steps of the shim, in their order.
func (s *shim) only(names []string) []shimStep {
	return slices.DeleteFunc(s.steps(), func(st shimStep) bool { return !slices.Contains(names, st.name) })
}

// runBehind puts one wall up around this process and becomes the program of the
// order on stdin.
func runBehind(args []string) {
	runtime.LockOSThread()
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, "behind", args[0], err)
		unix.Exit(3)
	}
	b, err := io.ReadAll(os.Stdin)
	if err != nil {
		fail(err)
	}
	s := &shim{}
	s.spare.close(nil) // nothing here waits for threads
	if s.order, err = decodeOrder(b); err != nil {
		fail(err)
	}
	// Some places of a jail are not there outside of one.
	s.order.Landlock.Rules = slices.DeleteFunc(s.order.Landlock.Rules, func(r landlockRule) bool {
		fd, err := openObject(unix.AT_FDCWD, r.Path)
		if err == nil {
			unix.Close(fd)
		}
		return err != nil
	})
	for _, step := range s.only(wallSteps[world(args[0])]) {
		if step.name == "capabilities" && os.Getuid() != 0 {
			continue // it has none
		}
		if err := step.run(); err != nil {
			fail(errors.Join(errors.New(step.name), err))
		}
	}
	env := s.order.Env
	fail(syscall.Exec(s.order.Program, s.order.Argv, env))
}
