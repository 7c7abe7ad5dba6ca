package confine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// work is the variable that has the test program do something in a job, in place of the tests.
const work = "MCPJAIL_TEST_WORK"

func TestMain(m *testing.M) {
	switch do := os.Getenv(work); do {
	case "":
		os.Exit(m.Run())
	case "wait": // until the standard input ends
		fmt.Println("waits")
		io.Copy(io.Discard, os.Stdin)
	case "start", "leave":
		self, _ := os.Executable()
		c := exec.Cmd{Path: self, Env: append(os.Environ(), work+"=wait"), Stdin: os.Stdin, Stdout: os.Stdout}
		if err := c.Start(); err != nil {
			fmt.Println("refused")
		} else if do == "start" {
			c.Wait()
		}
	case "commit":
		if _, err := windows.VirtualAlloc(0, 512<<20, windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE); err != nil {
			fmt.Println("refused")
		}
	case "write":
		if err := os.WriteFile(os.Getenv("MCPJAIL_TEST_FILE"), nil, 0o600); err != nil {
			fmt.Println("refused")
		}
	}
}

// start starts this program for a piece of work. The test reads what it writes, until nothing of it is left.
func start(t *testing.T, l jobLimits, do string, env ...string) (*jobProcess, *bufio.Reader) {
	t.Helper()
	self := testkit.Get(os.Executable())(t)
	in, hold, err := os.Pipe()
	testkit.Must(t, err)
	read, out, err := os.Pipe()
	testkit.Must(t, err)
	t.Cleanup(func() { hold.Close(); read.Close() })
	p, err := startInJob(&exec.Cmd{Path: self, Args: []string{self}, Env: append(append(os.Environ(), work+"="+do), env...), Stdin: in, Stdout: out}, l)
	testkit.Must(t, err)
	in.Close()
	out.Close()
	return p, bufio.NewReader(read)
}

// TestTreeEnds: what a program has started ends with the program, and by a kill. It holds the pipe, whose
// end shows that it is gone.
func TestTreeEnds(t *testing.T) {
	for _, do := range []string{"leave", "start"} {
		p, out := start(t, jobLimits{}, do)
		if line, err := out.ReadString('\n'); !strings.HasPrefix(line, "waits") {
			t.Fatal(line, err)
		}
		if do == "start" {
			testkit.Must(t, p.Kill(9))
		}
		testkit.Equal(t, fmt.Sprintf("%s: status", do), (testkit.Get(p.Wait())(t) == 9), do == "start")
		testkit.Empty(t, do, testkit.Get(io.ReadAll(out))(t))
		testkit.Is(t, fmt.Sprintf("%s: killed again", do), p.Kill(1), os.ErrProcessDone)
	}
}

// TestHeld: a process too many, memory too much, and a file that is not labelled are refused. In each case
// the control has no such limit, or the label.
func TestHeld(t *testing.T) {
	own, labelled := t.TempDir(), t.TempDir()
	testkit.Must(t, letWrite(labelled))
	for _, c := range []struct {
		do, want string
		limits   jobLimits
		dir      string
	}{
		{"leave", "refused", jobLimits{Processes: 1}, ""},
		{"leave", "waits", jobLimits{Processes: 9}, ""},
		{"commit", "refused", jobLimits{MemoryMB: 256}, ""},
		{"commit", "", jobLimits{MemoryMB: 2048}, ""},
		{"write", "refused", jobLimits{}, own},
		{"write", "", jobLimits{}, labelled},
	} {
		p, out := start(t, c.limits, c.do, "MCPJAIL_TEST_FILE="+c.dir+`\file`)
		line, _ := out.ReadString('\n')
		testkit.Equal(t, fmt.Sprintf("%s with %+v in %q", c.do, c.limits, c.dir), strings.TrimSpace(line), c.want)
		p.Kill(1)
		p.Wait()
	}
}

// TestFailedStart: the error of a program that is not there names the step.
func TestFailedStart(t *testing.T) {
	p, err := startInJob(&exec.Cmd{Path: `C:\none.exe`, Args: []string{"none"}}, jobLimits{})
	var failed *sys.Error
	if !errors.As(err, &failed) || failed.Step != sys.Exec || p != nil {
		t.Errorf("%v", err)
	}
}
