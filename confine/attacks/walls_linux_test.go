package attacks

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"syscall"

	jailpkg "github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/confine/internal/rootfs"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	steppkg "github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"golang.org/x/sys/unix"
)

// One wall at a time. Production code has no way to leave a step out.

const behindName = "mcp-jail-behind" // puts up one wall without namespaces, then runs the program

// only builds a jail that is one wall.
func (w world) only(b *jailpkg.JailBuilder, steps []jailpkg.BuildStep) []jailpkg.BuildStep {
	return slices.DeleteFunc(steps, func(st jailpkg.BuildStep) bool {
		return !slices.Contains(wallSteps[w], st.Name) || st.Name == "landlock" && w == wallMediation
	})
}

// restrictingAfterRules are the steps that a process can go through by itself.
func restrictingAfterRules(b *jailpkg.JailBuilder) []jailpkg.BuildStep {
	return append([]jailpkg.BuildStep{{Name: "landlock rules", By: b.Init, Run: b.OpenRuleset}}, b.Restricting()...)
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
	s := &jailpkg.JailBuilder{Builder: jailpkg.Builder{Init: self, Server: self}, Outer: self}
	if s.Order, err = spec.DecodeOrder(b); err != nil {
		fail(err)
	}
	// Some places of a jail are not there outside of one.
	s.Order.Landlock.Rules = slices.DeleteFunc(s.Order.Landlock.Rules, func(r landlock.Rule) bool {
		fd, err := rootfs.OpenObject(&stub.Task{}, unix.AT_FDCWD, r.Path)
		if err == nil {
			unix.Close(fd)
		}
		return err != nil
	})
	s.Root.T = self
	if world(args[0]) == wallDescriptors {
		unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	}
	for _, step := range world(args[0]).only(s, restrictingAfterRules(s)) {
		if step.Name == steppkg.Capabilities && os.Getuid() != 0 {
			continue // it has none
		}
		if err := step.Run(); err != nil {
			fail(errors.Join(errors.New(step.Name), err))
		}
	}
	env := s.Order.Env
	fail(syscall.Exec(s.Order.Program, s.Order.Argv, env))
}
