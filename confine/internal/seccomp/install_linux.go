package seccomp

import (
	"errors"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"golang.org/x/sys/unix"
)

// applySeccomp installs a filter (see filterRecords) and returns what the
// kernel returned: with SECCOMP_FILTER_FLAG_NEW_LISTENER the descriptor of the
// listener, else 0.
//
// Without flags the filter holds for the calling thread, which the caller must
// have locked, and for what that thread starts or executes. With
// SECCOMP_FILTER_FLAG_TSYNC it holds for every thread of the process, or for
// none: a thread that cannot be brought along is an error. TSYNC together with
// NEW_LISTENER needs SECCOMP_FILTER_FLAG_TSYNC_ESRCH.
//
// no_new_privs must be set on the thread, else EACCES.
func Install(t *stub.Task, records []byte, flags uintptr) (listener int, err error) {
	n := len(records) / sizeofSockFilter
	if n == 0 || n > MaxProgram || len(records)%sizeofSockFilter != 0 {
		return -1, syscall.EINVAL
	}
	r, err := t.Seccomp(records, flags)
	if err != nil {
		return -1, err
	}
	return r, t.OnComplete(func() error {
		if flags&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER == 0 && t.Resolve(r) != 0 {
			// With TSYNC the kernel names the thread that kept the filter from being
			// shared, and installs nothing.
			return errTSync
		}
		return nil
	})
}

var errTSync = errors.New("seccomp: a thread could not take the filter")
