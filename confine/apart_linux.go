package confine

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// apart keeps the shim's other threads off the processor of the one that builds the jail.
//
// The kernel queues a new thread where its maker is, or another that was just busy, and
// does not move what is only queued: it looks for such threads when a processor has been
// idle for long enough, which one that the Go runtime's monitor wakes on each 80 µs never
// is. On two processors builder and leader would take turns on one, beside an idle one.
//
// The builder itself, from which the server comes, is not restricted for a moment, and
// the others are only until the building is done. Numbers of threads are those of a PID
// namespace in which there is nobody else.
type apart struct {
	all   unix.CPUSet
	taken bool
}

// begin is called by the builder.
func (a *apart) begin() {
	var here uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&here)), 0, 0); errno != 0 {
		return
	}
	if err := unix.SchedGetaffinity(0, &a.all); err != nil {
		return
	}
	others := a.all
	others.Clear(int(here))
	if others.Count() == 0 {
		return
	}
	a.taken = true
	runOn(&others)
}

// end is called by the builder: when the others are waited for after all, and when there
// are all threads that there will be.
func (a *apart) end() {
	if a.taken {
		runOn(&a.all)
	}
}

// runOn has all threads but this one run on some processors. It is not for what is done
// but for when, so that a refusal is none of our business.
func runOn(set *unix.CPUSet) {
	self := unix.Gettid()
	const gap = 8 // numbers in a row that nobody has; a few may be of threads that could not be made
	for tid, missed := os.Getpid(), 0; missed < gap; tid++ {
		if tid == self {
			continue
		}
		switch unix.SchedSetaffinity(tid, set) {
		case nil:
			missed = 0
		case unix.ESRCH:
			missed++
		default:
			return
		}
	}
}
