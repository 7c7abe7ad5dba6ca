package sys

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// spareThreads makes threads that the runtime keeps for when it needs some. It ends
// the program where it cannot have one, and with the init the jail: a server that has
// taken all there are must not bring that about. The leader, the one that builds the
// jail and reaps, and the runtime's own two are there already. Of those that run Go code,
// runsAtOnce at most, each may be about to hand over to another: a thread that has done so
// and does not sleep yet is of no use to the runtime. One more is kept for f.
func SpareThreads(n int, f func()) {
	n++
	var there, gone sync.WaitGroup
	there.Add(n)
	gone.Add(n)
	for i := range n {
		go func() {
			// A goroutine that is bound to a thread and waits keeps it from the others.
			runtime.LockOSThread()
			there.Done()
			there.Wait()
			if i == 0 {
				gone.Done()
				f()
			}
			runtime.UnlockOSThread()
			if i > 0 {
				gone.Done()
			}
		}()
	}
	gone.Wait()
}

func Sleep(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	for unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}
