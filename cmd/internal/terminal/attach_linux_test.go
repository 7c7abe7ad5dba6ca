package terminal

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/sys/unix"
)

// TestDetachDropsInput: what the user's terminal sends when the program on the other terminal is gone does not
// reach who reads the terminal next. What is sent after Detach does.
func TestDetachDropsInput(t *testing.T) {
	user, typed := newTerminal(t)
	other, _ := newTerminal(t)
	a, err := New(user, user, user).Attach(other)
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	<-a.Drawn()
	send := func(text string) {
		t.Helper()
		if _, err := typed.WriteString(text); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	for n := 0; waitingInput(t, user) < 5; n++ { // the copying reads some, and ends because the other terminal is gone
		if send("y"); n == 500 {
			t.Fatal("nothing that is typed waits to be read")
		}
	}
	a.Detach()
	if n := waitingInput(t, user); n != 0 {
		t.Errorf("%d bytes are left for the user's shell", n)
	}
	send("ls\n")
	testkit.Eventually(t, "what is typed after Detach waits to be read", func() bool { return waitingInput(t, user) == 3 })
}

// newTerminal returns a terminal as a program has it, and the other end of it.
func newTerminal(t *testing.T) (program, master *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return program, master
}

func waitingInput(t *testing.T, f *os.File) int {
	t.Helper()
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
