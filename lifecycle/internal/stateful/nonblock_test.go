//go:build unix

package stateful

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
)

// TestMadeNonBlocking: another program that shares the client's descriptors makes them
// non-blocking during the session.
func TestMadeNonBlocking(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MCP_JAIL_TEST_SERVER=session", "MCP_JAIL_TEST_INNER=polite", "GORACE=atexit_sleep_ms=0")
	inR, in, err := os.Pipe()
	testkit.Must(t, err)
	out, outW, err := os.Pipe()
	testkit.Must(t, err)
	defer out.Close()
	cmd.Stdin, cmd.Stdout = inR, outW
	testkit.Must(t, cmd.Start())
	p := &sessiontest.Play{T: t}
	p.Use(in, out)
	p.Send(sessiontest.Initialize)
	p.Line()
	for _, f := range []*os.File{inR, outW} {
		testkit.Must(t, syscall.SetNonblock(int(f.Fd()), true))
		f.Close()
	}
	const n = 100
	line := `{"id":1,"method":"m","params":"` + strings.Repeat("x", 2000) + `"}`
	for range n {
		p.Send(line)
	}
	p.In.Close()
	time.Sleep(300 * time.Millisecond) // until our stdout is full
	if got := p.Rest(); got != strings.Repeat(sessiontest.AnswerTo("1", line), n) {
		t.Errorf("got %d bytes", len(got))
	}
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 7 {
		t.Errorf("status %d", got)
	}
}
