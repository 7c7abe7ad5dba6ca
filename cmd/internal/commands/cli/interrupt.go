package cli

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
)

// Interrupts returns a channel for the signals that end a command, without those that the caller of
// mcp-jail has it ignore. signal.Stop ends that.
func Interrupts() chan os.Signal {
	interrupted := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(interrupted, s)
		}
	}
	return interrupted
}

// Interrupted returns the exit status of a command that a signal ended, as shells have it.
func Interrupted(s os.Signal) error {
	return exit.ReportedStatus((&exit.InterruptedError{Signal: s}).Status())
}
