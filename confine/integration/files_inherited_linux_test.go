package integration

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestJailInheritedFilesStayReadOnly: the server cannot reopen a descriptor for writing that it
// inherited for reading. No path in the jail leads to such a file, so no rule covers it.
// Landlock refuses it to the server and to the supervisor's workers.
func TestJailInheritedFilesStayReadOnly(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	attempts := []attacker.Attempt{
		attacker.Try("read", "/proc/self/fd/0"), attacker.Try("write", "/proc/self/fd/0"), attacker.Try("append", "/proc/self/fd/0"), attacker.Try("rewrite", "/proc/self/fd/0"),
		attacker.Try("truncate", "/proc/self/fd/0"), attacker.Try("write", "/dev/stdin"),
	}
	run := func(start func(in, out *os.File) func()) ([]attacker.Outcome, string) {
		name := testkit.Plant(t, "given") + "/given"
		in := testkit.Get(os.Open(name))(t)
		defer in.Close()
		r, w, err := os.Pipe()
		testkit.Must(t, err)
		defer r.Close()
		wait := start(in, w)
		w.Close()
		report, _ := io.ReadAll(r)
		wait()
		text, _ := os.ReadFile(name)
		return jailtest.Outcomes(t, attempts, report, ""), string(text)
	}
	free, after := run(func(in, out *os.File) func() {
		cmd := exec.Command(jailtest.Binary)
		cmd.Args = append([]string{attacker.Name}, jailtest.Args(t, attempts)...)
		cmd.Stdin, cmd.Stdout = in, out
		testkit.Must(t, cmd.Start())
		return func() { cmd.Wait() }
	})
	if want := []attacker.Outcome{"ok given", "ok", "ok", "ok", "ok", "ok"}; !slices.Equal(free, want) || after == "given" {
		t.Errorf("unconfined: %v, and it is %q", free, after)
	}
	p := jailtest.Profile(t)
	p.Argv = append(p.Argv, jailtest.Args(t, attempts)...)
	got, after := run(func(in, out *os.File) func() {
		proc := testkit.Get(confine.Launcher{}.Start(t.Context(), p, jail.Stdio{In: in, Out: out}))(t)
		return func() { proc.Wait() }
	})
	if want := []attacker.Outcome{"EACCES", "EACCES", "EACCES", "EACCES", "EACCES", "EACCES"}; !slices.Equal(got, want) || after != "given" {
		t.Errorf("in the jail: %v, and it is %q", got, after)
	}
}
