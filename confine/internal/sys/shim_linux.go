package sys

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// atOnce starts f on another thread while this one goes on. The scheduler leaves the
// latest goroutine to the thread that made it, and others take it only after a pause:
// so there is a later one.
func AtOnce(f func()) {
	go f()
	go func() {}()
}

func OnOtherThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		go OnOtherThread(f)
		select {}
	}
	f()
}

// manyTurns is how often a thread yields its processor while it waits: some hundred
// microseconds on an idle machine.
const ManyTurns = 1000
