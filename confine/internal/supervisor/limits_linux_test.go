package supervisor

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/oom"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"golang.org/x/sys/unix"
)

// TestEndsOnlyItsOwn: without a PID namespace a number may be somebody else's by the time
// that its process is to be ended.
func TestEndsOnlyItsOwn(t *testing.T) {
	mine := exec.Command("sleep", "1000")
	if err := mine.Start(); err != nil {
		t.Fatal(err)
	}
	// What a shell leaves behind falls to the host's init.
	var pipes [4]*os.File
	for i := range 2 {
		var err error
		if pipes[2*i], pipes[2*i+1], err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
	}
	hears, says := pipes[2], pipes[1]
	defer hears.Close()
	defer says.Close()
	shell := exec.Command("setsid", "sh", "-c", "cat <&3 >&4 2>/dev/null & echo $!")
	shell.ExtraFiles = []*os.File{pipes[0], pipes[3]}
	other, err := shell.Output()
	pipes[0].Close()
	pipes[3].Close()
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(string(other))
	if all, err := proc.Descendants(); err != nil || slices.Contains(all, pid) || !slices.Contains(all, strconv.Itoa(mine.Process.Pid)) {
		t.Fatalf("%v, %v: not what this test needs", all, err)
	}
	answers := func() bool {
		says.Write([]byte("x"))
		n, _ := hears.Read(make([]byte, 1))
		return n == 1
	}
	if !answers() {
		t.Fatal("the stranger is not there")
	}
	(&Shim{Builder: jail.Builder{Bare: true}}).killMembers([]oom.Member{{Pid: pid}, {Pid: strconv.Itoa(mine.Process.Pid)}, {Pid: "none"}})
	if err := mine.Wait(); err == nil || mine.ProcessState.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Errorf("its own: %v", err)
	}
	if !answers() {
		t.Fatal("a stranger was ended")
	}
	// The control: it could have been.
	(&Shim{}).killMembers([]oom.Member{{Pid: pid}})
	if answers() {
		t.Error("nobody is ended")
	}
}

// TestUnsaid: where nobody hears, nobody waits, and it is said later.
func TestUnsaid(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	size, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	s := &Shim{status: w}
	s.Say = s.tell
	var late unsaid
	for range 2 * mostUnsaid {
		late.say(s, spec.Message{Kind: spec.SaysLimit, Step: spec.KeyMemory})
	}
	if len(late) != mostUnsaid {
		t.Errorf("%d wait", len(late))
	}
	if _, err := io.ReadFull(r, make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	late.tell(s)
	b := make([]byte, size)
	n, err := r.Read(b)
	if err != nil || len(late) != 0 {
		t.Fatalf("%d wait: %v", len(late), err)
	}
	said := 0
	for rest := b[:n]; len(rest) > 0; said++ {
		if _, rest, err = spec.NextMessage(rest); err != nil {
			t.Fatal(err)
		}
	}
	if said != mostUnsaid {
		t.Errorf("%d were said", said)
	}
}
