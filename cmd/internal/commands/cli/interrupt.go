package cli

import (
	"os"
	"os/signal"
	"syscall"
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
