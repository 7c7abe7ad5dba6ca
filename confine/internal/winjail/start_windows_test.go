package winjail

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestArguments: every argument arrives as it was given.
func TestArguments(t *testing.T) {
	argv := []string{"", `a b\`, `q"r`, `\\\"`, "x&calc", "%PATH%", "ü\t€", `C:\dir\`, "^|>", "''"}
	var want strings.Builder
	for _, a := range argv {
		fmt.Fprintf(&want, "%q\n", a)
	}
	if got := launch(t, Input{}, Command{}, append([]string{"argv"}, argv...)...).read(); got != want.String() {
		t.Errorf("%s\nwant\n%s", got, want.String())
	}
}

// TestEnvironmentOfProcess: the process has the variables that it is given, and none of this process. Without
// SystemRoot Windows adds that one, and Wine some of its own.
func TestEnvironmentOfProcess(t *testing.T) {
	t.Setenv("MCPJAIL_TEST_SECRET", "geheim")
	root := "SystemRoot=" + os.Getenv("SystemRoot")
	got := strings.Split(launch(t, Input{}, Command{Env: []string{"ONE=1", root}}, "environment").read(), "\n")
	if !slices.Contains(got, "ONE=1") || slices.ContainsFunc(got, func(v string) bool { return strings.Contains(v, "geheim") }) {
		t.Errorf("%q", got)
	}
	if got := launch(t, Input{}, Command{}, "environment").read(); !strings.Contains(got, "geheim") {
		t.Errorf("control: %q", got)
	}
}

// TestStatus: the status of a program is the one that it ended with, and that of a killed one the one it
// was ended with.
func TestStatus(t *testing.T) {
	for _, want := range []int{0, 1, 259, 0x4000_0000} {
		if got, err := launch(t, Input{}, Command{}, "status", fmt.Sprint(want)).Wait(); got != want || err != nil {
			t.Errorf("%d, %v, want %d", got, err, want)
		}
	}
	p := launch(t, Input{}, Command{}, "wait")
	p.await("waits")
	if err := p.Kill(137); err != nil {
		t.Error(err)
	}
	if got, err := p.Wait(); got != 137 || err != nil {
		t.Errorf("killed: %d, %v", got, err)
	}
	p.CloseJob()
	if err := p.Kill(1); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a job that is closed: %v", err)
	}
}

// TestTreeEnds: what a program has started ends with its job, by the end of the last handle as by a kill.
// It holds the pipe, whose end shows that it is gone.
func TestTreeEnds(t *testing.T) {
	for name, end := range map[string]func(*running){
		"close": func(r *running) { r.CloseJob() },
		"kill":  func(r *running) { r.Kill(1) },
	} {
		p := launch(t, Input{}, Command{}, "start apart")
		if code, err := p.Wait(); code != 0 || err != nil {
			t.Fatalf("%s: %d, %v", name, code, err)
		}
		p.await("waits") // the child outlives its parent: the control
		end(p)
		if rest := p.read(); rest != "" {
			t.Errorf("%s: %q", name, rest)
		}
	}
}

// TestHandles: a process inherits no handle of this process but its three, also while others are made
// inheritable.
func TestHandles(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	self := windows.CurrentProcess()
	var h windows.Handle
	if err := windows.DuplicateHandle(self, windows.Handle(write.Fd()), self, &h, 0, true, windows.DUPLICATE_SAME_ACCESS); err != nil {
		t.Fatal(err)
	}
	defer windows.CloseHandle(h)
	for want, extra := range map[string][]windows.Handle{"handle: false\n": nil, "handle: true\n": {h}} {
		if got := launch(t, Input{}, Command{Extra: extra}, "handle", fmt.Sprint(uint64(h))).read(); got != want {
			t.Errorf("with %v: %q", extra, got)
		}
	}
}

// TestStartsAtOnce: starts at the same time keep their pipes apart. A pipe that another process had
// inherited would not end.
func TestStartsAtOnce(t *testing.T) {
	var all sync.WaitGroup
	for i := range 6 {
		p := launch(t, Input{}, Command{}, "wait")
		all.Go(func() {
			p.await("waits")
			if i%2 == 0 {
				p.Kill(1)
			} else {
				p.in.Close()
			}
			p.read()
		})
	}
	all.Wait()
}

// TestFailedStart: an error names the step, and no process is left.
func TestFailedStart(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]Command{
		step.Exec:       {Program: self + ".none", Argv: []string{"x"}},
		StepCommandLine: {Program: self},
		StepEnvironment: {Program: self, Argv: []string{"x"}, Env: []string{"A=1", "a=2"}},
	} {
		told := false
		c.Tell = func(Report) { told = true }
		p, err := Start(c, Input{})
		var e *step.Error
		if !errors.As(err, &e) || e.Step != want || p != nil || told {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestToken: a process of this package has no privileges and no administrators.
func TestToken(t *testing.T) {
	testkit.NotUnderWine(t, "CreateRestrictedToken takes nothing away")
	token, err := restrictedToken()
	if err != nil {
		t.Fatal(err)
	}
	defer token.Close()
	if all, err := Faults(token); all != nil || err != nil {
		t.Errorf("%q, %v", all, err)
	}
	if all, err := Faults(windows.GetCurrentProcessToken()); all == nil || err != nil {
		t.Errorf("control: this process: %q, %v", all, err)
	}
}

// TestLimits: a process too many and memory too much are refused, and reported.
func TestLimits(t *testing.T) {
	testkit.NotUnderWine(t, "a job limits nothing")
	for _, c := range []struct {
		in       Input
		argv     []string
		want     string
		reported []Report
	}{
		{Input{Processes: 1}, []string{"start"}, "refused: ", []Report{ProcessesReached}},
		{Input{MemoryMB: 256}, []string{"commit"}, "commit: The paging file", []Report{MemoryReached}},
		{Input{NoChildren: true}, []string{"start"}, "refused: ", nil},
		{Input{Processes: 8, MemoryMB: 2048}, []string{"commit"}, "commit: <nil>", nil},
	} {
		var told []Report
		p := launch(t, c.in, Command{Tell: func(r Report) { told = append(told, r) }}, c.argv...)
		got := p.read()
		p.Wait()
		p.Release() // all is told then
		if !strings.HasPrefix(got, c.want) || !slices.Equal(slices.Compact(told), c.reported) {
			t.Errorf("%+v: %q, told %v", c.in, got, told)
		}
	}
}

// TestReportsEnd: a job tells its port of starts and ends, of which nothing is made, and the port ends with
// the job.
func TestReportsEnd(t *testing.T) {
	for range 5 {
		p := launch(t, Input{}, Command{Tell: func(r Report) { t.Errorf("told %d", r) }}, "status", "0")
		p.Wait()
		p.Release()
		select {
		case <-p.port.closed:
		default:
			t.Fatal("the port is still served")
		}
		p.handle, p.port = 0, nil // the end of the test closes nothing again
	}
}

// TestPrivilegeName: a privilege has its published name, and one that Windows does not know its number.
func TestPrivilegeName(t *testing.T) {
	for _, want := range []string{"SeDebugPrivilege", "SeChangeNotifyPrivilege", "SeCreateGlobalPrivilege"} {
		name, err := windows.UTF16PtrFromString(want)
		if err != nil {
			t.Fatal(err)
		}
		var id windows.LUID
		if err := windows.LookupPrivilegeValue(nil, name, &id); err != nil {
			t.Fatal(err)
		}
		if got := privilegeName(id); got != want {
			t.Errorf("%s: %q", want, got)
		}
	}
	if got := privilegeName(windows.LUID{LowPart: 7, HighPart: 1}); got != "privilege 4294967303" {
		t.Errorf("an unknown one: %q", got)
	}
}
