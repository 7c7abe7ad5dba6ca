package sys

import (
	"golang.org/x/sys/unix"
)

// Of linux/futex.h: FUTEX_WAIT and FUTEX_WAKE with FUTEX_PRIVATE_FLAG.
const (
	FutexWaitPrivate = 0 | 128
	FutexWakePrivate = 1 | 128
)

// patience is for how long, in nanoseconds, the supervisor's threads wait for what
// often comes at once, without telling Go's scheduler that they wait. Once it is
// told, it takes from the thread what the thread needs to go on, and getting that
// back costs more than the call. Whatever stops the world waits for that long.
const Patience = 100_000

func BlockSignals() error {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	return unix.PthreadSigmask(unix.SIG_BLOCK, &all, nil)
}
