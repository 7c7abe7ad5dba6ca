package sys

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// OnUnrestrictedThread runs f on a thread that is not in the server's Landlock domain. That
// domain would keep f from reading /proc. It returns when f has returned.
func OnUnrestrictedThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// GoOnNewThread starts f on another thread at once. The scheduler keeps the newest goroutine
// for the current thread, and other threads take it only after a pause. So a second goroutine
// follows.
func GoOnNewThread(f func()) {
	go f()
	go func() {}()
}

// OffMainThread runs f on a locked thread that is not the process's first.
func OffMainThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		go OffMainThread(f)
		select {}
	}
	f()
}

// StartIdleThreads makes n threads, which Go's runtime keeps until it needs them, and one
// more that runs f. The program ends if a thread cannot be made, and a jail ends with its
// supervisor. So the supervisor makes its threads before the server runs, which could take all
// threads that its user may have.
//
// The supervisor's first thread, the one that builds a jail with host namespaces, and two of
// the runtime exist already. In n, each goroutine that may run Go code at the same time as others
// counts twice: a thread that hands its goroutine over is of no use to the runtime until the
// thread sleeps.
func StartIdleThreads(n int, f func()) {
	n++
	var started, done sync.WaitGroup
	started.Add(n)
	done.Add(n)
	for i := range n {
		go func() {
			// A goroutine that is locked to a thread and waits keeps the thread from others.
			runtime.LockOSThread()
			started.Done()
			started.Wait()
			if i == 0 {
				done.Done()
				f()
			}
			runtime.UnlockOSThread()
			if i > 0 {
				done.Done()
			}
		}()
	}
	done.Wait()
}

// Sleep sleeps without the runtime's timers, which other threads would have to serve.
func Sleep(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	for unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}

// LongSpin is how often a thread yields its processor at most while it waits for something,
// before it sleeps.
const LongSpin = 1000

// BusyWaitNs is how long, in nanoseconds, the supervisor's threads wait for something in a
// system call that Go's scheduler does not know of. If it knows of the call, it gives the
// thread's right to run to another, and getting it back costs more than the call. An operation
// that stops all goroutines, like a garbage collection, waits for that long.
const BusyWaitNs = 100_000

// FUTEX_WAIT and FUTEX_WAKE of linux/futex.h, with FUTEX_PRIVATE_FLAG.
const (
	FutexWaitPrivate = 0 | 128
	FutexWakePrivate = 1 | 128
)

// BlockSignals blocks all signals on the current thread.
func BlockSignals() error {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	return unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil)
}
