package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// withoutNamespacesMain executes its arguments where user namespaces are refused, as in a container.
func withoutNamespacesMain() {
	err := testkit.ExecWithoutNamespaces(os.Args[1:])
	os.Stderr.WriteString("without-namespaces: " + err.Error() + "\n")
	os.Exit(1)
}

// filterThread installs a seccomp filter on the calling thread and on what it starts.
func filterThread(instructions []bpf.Instruction) error {
	prog, err := bpf.Assemble(instructions)
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(prog))
	for i, ins := range prog {
		filter[i] = unix.SockFilter{Code: ins.Op, Jt: ins.Jt, Jf: ins.Jf, K: ins.K}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	fprog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog))); errno != 0 {
		return errno
	}
	runtime.KeepAlive(filter)
	return nil
}

// withoutUserns makes a command of this world run where user namespaces are refused.
func withoutUserns(cmd *exec.Cmd) *exec.Cmd {
	cmd.Args = append([]string{withoutNamespaces, cmd.Path}, cmd.Args[1:]...)
	if self, err := filepath.Abs(os.Args[0]); err == nil {
		cmd.Path = self
	}
	return cmd
}

// waiveNamespaces are the flags that the refusal message proposes.
var waiveNamespaces = []string{"--waive", "fs", "--waive", "process", "--waive", "limits"}

// TestWithoutNamespacesPrograms tests that common runtimes work.
func TestWithoutNamespacesPrograms(t *testing.T) {
	need(t, "jail", "/usr/bin/python3")
	w := newWorld(t)
	t.Parallel()
	if out, err := w.plain("git", "init", "-q", "repo").CombinedOutput(); err != nil { // the server cannot create one
		t.Fatalf("%v: %s", err, out)
	}
	s := open(t, withoutUserns(w.jail(append(slices.Clip(waiveNamespaces), "--", "/usr/bin/python3", w.fixture(t, "exec.py"))...)), nil)
	defer s.close()
	for program, argv := range testkit.Named[[]string](t, "without-namespaces.txt") {
		t.Run(program, func(t *testing.T) {
			need(t, program)
			if out := s.mustRun(argv...); !strings.Contains(out, "fine") {
				t.Errorf("it printed %q", out)
			}
		})
	}
}

// TestWithoutNamespacesUnchanged tests that a failure which the jail does not cause is
// passed unchanged. Without namespaces refused reads are recorded; reads that every
// program does must not be.
func TestWithoutNamespacesUnchanged(t *testing.T) {
	need(t, "jail", "/usr/bin/python3")
	t.Parallel()
	w := newWorld(t)
	argv := []string{"/usr/bin/python3", w.fixture(t, "exec.py")}
	failing := map[string]any{"argv": []string{"cat", "absent"}}
	s := open(t, w.plain(argv...), nil)
	plain := s.tool("run", failing)
	s.close()
	s = open(t, withoutUserns(w.jail(append(append(waiveNamespaces[:6:6], "--"), argv...)...)), nil)
	jailed := s.tool("run", failing)
	s.close()
	if !plain.IsError || string(plain.raw) != string(jailed.raw) {
		t.Errorf("the jail makes a difference:\n plain  %s\n jailed %s", plain.raw, jailed.raw)
	}
}
