package confine

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// quietSignals are those that end this process without a word if nothing handles them. Go's runtime
// prints its goroutines on the others.
var quietSignals = []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGALRM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGVTALRM}

// Die ends this process as the program ended: with its status, or by its signal if that writes
// nothing, so that the parent sees the same.
func (e Exit) Die() {
	if slices.Contains(quietSignals, e.Signal) {
		signal.Reset(e.Signal)
		syscall.Kill(os.Getpid(), e.Signal)
		time.Sleep(time.Second) // until it is delivered
	}
	os.Exit(e.Code)
}

// Undumpable does nothing here: macOS lets no other program read this one's memory without a right
// that this program does not give.
func Undumpable() error { return nil }
