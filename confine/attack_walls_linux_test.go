package confine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

// One wall at a time. Production code has no way to leave a step out.

const behindName = "mcp-jail-behind" // puts up one wall without namespaces, then runs the program

// only builds a jail that is one wall.
func (w world) only(b *jailBuilder, steps []buildStep) []buildStep {
	return slices.DeleteFunc(steps, func(st buildStep) bool {
		return !slices.Contains(wallSteps[w], st.name) || st.name == "landlock" && w == wallMediation
	})
}

// restrictingAfterRules are the steps that a process can go through by itself.
func restrictingAfterRules(b *jailBuilder) []buildStep {
	return append([]buildStep{{"landlock rules", b.init, b.openRuleset}}, b.restricting()...)
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
	self := &stub.Task{}
	s := &jailBuilder{builder: builder{init: self, server: self}, outer: self}
	if s.order, err = decodeOrder(b); err != nil {
		fail(err)
	}
	// Some places of a jail are not there outside of one.
	s.order.Landlock.Rules = slices.DeleteFunc(s.order.Landlock.Rules, func(r landlockRule) bool {
		fd, err := openObject(&stub.Task{}, unix.AT_FDCWD, r.Path)
		if err == nil {
			unix.Close(fd)
		}
		return err != nil
	})
	s.root.t = self
	if world(args[0]) == wallDescriptors {
		unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	}
	for _, step := range world(args[0]).only(s, restrictingAfterRules(s)) {
		if step.name == stepCapabilities && os.Getuid() != 0 {
			continue // it has none
		}
		if err := step.run(); err != nil {
			fail(errors.Join(errors.New(step.name), err))
		}
	}
	env := s.order.Env
	fail(syscall.Exec(s.order.Program, s.order.Argv, env))
}
