package seccomp

import (
	"errors"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"golang.org/x/sys/unix"
)

// Install installs a filter (see Records). With SECCOMP_FILTER_FLAG_NEW_LISTENER it returns
// the descriptor of the listener, and else 0.
//
// Without flags the filter holds for the calling thread and for the threads and processes
// that it starts. The caller must have locked the goroutine to the thread. With
// SECCOMP_FILTER_FLAG_TSYNC the filter holds for every thread of the process, or Install
// fails and it holds for none. TSYNC with NEW_LISTENER also needs
// SECCOMP_FILTER_FLAG_TSYNC_ESRCH.
//
// The thread must have set no_new_privs, else the error is EACCES.
func Install(t *stub.Task, records []byte, flags uintptr) (listener int, err error) {
	n := len(records) / sizeofSockFilter
	if n == 0 || n > maxProgram || len(records)%sizeofSockFilter != 0 {
		return -1, syscall.EINVAL
	}
	r, err := stub.Seccomp(t, records, flags)
	if err != nil {
		return -1, err
	}
	return r, t.OnComplete(func() error {
		if flags&unix.SECCOMP_FILTER_FLAG_NEW_LISTENER == 0 && t.Resolve(r) != 0 {
			// With TSYNC the kernel returns the thread that could not take the filter, and
			// installs the filter in no thread.
			return errTSync
		}
		return nil
	})
}

var errTSync = errors.New("seccomp: the filter could not be installed in every thread")
