package cli_test

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestInterruptedQuestions tests that each kind of question ends with the status 1 at a signal, says what has
// not happened, and leaves the terminal as it was.
func TestInterruptedQuestions(t *testing.T) {
	safe := make(chan os.Signal, 100) // a signal must not end the test
	signal.Notify(safe, os.Interrupt)
	defer signal.Stop(safe)
	for name, ask := range map[string]func(c terminal.Console) error{
		"nothing was changed":   func(c terminal.Console) error { return cli.Confirm(context.Background(), c, "sure?") },
		"nothing was changed  ": func(c terminal.Console) error { _, err := cli.AskKey(c, "sure?", "y: yes"); return err },
		"x is not trusted":      func(c terminal.Console) error { _, err := cli.AskYes(c, "sure?", "x is not trusted"); return err },
		"no server was started": func(c terminal.Console) error { _, err := cli.AskText(c, "sure?", true); return err },
	} {
		t.Run(name, func(t *testing.T) {
			screen, program, err := testkit.Terminal(80, 0)
			testkit.Must(t, err)
			defer screen.Close()
			defer program.Close()
			before, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
			testkit.Must(t, err)
			end := make(chan error, 1)
			go func() { end <- ask(terminal.New(program, program, program)) }()
			var shown strings.Builder
			for buf := make([]byte, 100); !strings.Contains(shown.String(), "sure?"); {
				n, err := screen.Read(buf)
				testkit.Must(t, err)
				shown.Write(buf[:n])
			}
			testkit.Must(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
			var interrupted *terminal.InterruptedError
			if err := <-end; !errors.As(err, &interrupted) || terminal.Status(err) != terminal.Failure || interrupted.Undone != strings.TrimSpace(name) {
				t.Errorf("%v, status %d", err, terminal.Status(err))
			}
			after, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
			if err != nil || after.Lflag != before.Lflag {
				t.Errorf("the terminal shows %x after %x (%v)", after.Lflag, before.Lflag, err)
			}
		})
	}
}
