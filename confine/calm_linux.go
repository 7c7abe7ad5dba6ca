package confine

import (
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calmArg is the last of the shim's arguments if it was started calmly.
const calmArg = "calm"

// calmly calls f, which starts programs with this list of arguments, and adds calmArg to
// it if their threads wait for their turn when they wake (SCHED_BATCH, sched(7)). Who
// was given another policy than the usual one keeps it.
//
// While a program starts, the Go runtime's monitor wakes twelve thousand times a
// second, and each time it would interrupt the thread that builds the jail. It is the
// runtime's first thread, and its policy is what the program was started with. All
// others become punctual again, above all the one that the server comes from: see
// bePunctual.
func calmly(args []string, f func(args []string)) {
	policy, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, 0, 0, 0)
	if errno == 0 && policy == unix.SCHED_NORMAL && setPolicy(unix.SCHED_BATCH) == nil {
		defer setPolicy(unix.SCHED_NORMAL)
		args = append(args, calmArg)
	}
	f(args)
}

// bePunctual makes this thread of the shim, and those that it starts, what the
// launcher's are.
func bePunctual() {
	if slices.Contains(os.Args, calmArg) {
		setPolicy(unix.SCHED_NORMAL)
	}
}

func setPolicy(policy int) error {
	var priority int32
	if _, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0, uintptr(policy), uintptr(unsafe.Pointer(&priority))); errno != 0 {
		return errno
	}
	return nil
}
