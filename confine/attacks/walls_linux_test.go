package attacks

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	jailpkg "github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	steppkg "github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// behindName is the argv[0] of the program that restricts itself by one wall and then becomes
// the attacker. The product cannot leave out a step.
const behindName = "mcp-jail-behind"

// only returns the steps that make up the wall.
func (w world) only(b *jailpkg.Builder, steps []jailpkg.Step) []jailpkg.Step {
	return slices.DeleteFunc(steps, func(st jailpkg.Step) bool {
		return !slices.Contains(wallSteps[w], st.Name) || st.Name == "landlock" && w == wallMediation
	})
}

// restrictingAfterRules returns the steps that a process can make for itself.
func restrictingAfterRules(b *jailpkg.Builder) []jailpkg.Step {
	return append([]jailpkg.Step{{Name: "landlock rules", Task: b.Init, Run: b.OpenRuleset}}, b.RestrictSteps()...)
}

// runBehind restricts this process by one wall and executes the program of the spec on stdin.
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
	s := &jailpkg.Builder{Restrictor: jailpkg.Restrictor{Init: self, Server: self}, Outer: self}
	if s.Spec, err = spec.Decode(b); err != nil {
		fail(err)
	}
	// Some places of a jail are not there outside one.
	s.Spec.Landlock.Rules = slices.DeleteFunc(s.Spec.Landlock.Rules, func(r landlock.Rule) bool {
		fd, err := jailpkg.OpenObject(&stub.Task{}, unix.AT_FDCWD, r.Path)
		if err == nil {
			unix.Close(fd)
		}
		return err != nil
	})
	s.Root.Task = self
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
	env := s.Spec.Env
	fail(syscall.Exec(s.Spec.Program, s.Spec.Argv, env))
}
