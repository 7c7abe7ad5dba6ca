package sys

import (
	"errors"
	"strings"
	"syscall"
)

// Error says that the jail could not be built, or that the program in it could not be
// started. Step Exec means the program: it is missing, not executable, in a wrong format, or
// its interpreter is missing. Every other step is a failure of confinement.
//
// One such failure comes from an upgrade of the host that replaces a file between resolve.Resolve
// and Start. The caller then resolves again. It starts the new profile if the Key differs and the
// user's rules still lead to equal entries.
type Error struct {
	Step   string        // "namespaces", "mounts", "landlock", …, Exec
	Errno  syscall.Errno // 0 if the error is not the kernel's
	Detail string        // the path or argument of the step; without an Errno, the reason
	Fix    string        // what the user can do, if the step knows
}

func (e *Error) Error() string {
	s := "step " + e.Step + " failed"
	if e.Step == Exec {
		s = "the program could not be started"
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Errno == noRoomForCode {
		s += ": the kernel has no room for another compiled filter (net.core.bpf_jit_limit)"
	} else if e.Errno != 0 && !strings.HasSuffix(e.Detail, e.Errno.Error()) {
		s += ": " + e.Errno.Error()
	}
	if e.Fix != "" {
		s += ". To mend it, " + e.Fix
	}
	return s
}

// noRoomForCode is ENOTSUPP of the kernel, which has no name in C: a filter could not be compiled.
const noRoomForCode syscall.Errno = 524

// IsShortage reports whether err is that of a host that is short of memory, processes or room for filters.
func IsShortage(err error) bool {
	errno := Errno(err)
	return errno == syscall.ENOMEM || errno == syscall.EAGAIN || errno == noRoomForCode
}

func (e *Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// Wrap returns err as an Error of this step. An Error in its chain keeps the step that it has.
func Wrap(step string, err error) *Error {
	var whole *Error
	if errors.As(err, &whole) {
		return whole
	}
	e := &Error{Step: step, Detail: err.Error()}
	if errors.As(err, &e.Errno) {
		e.Detail = ""
	}
	var on *WrappedError
	if errors.As(err, &on) {
		e.Detail = on.Detail
		if e.Errno == 0 {
			e.Detail = on.Error()
		}
	}
	return e
}

// WrappedError is an error with the path or argument that a step worked on.
type WrappedError struct {
	Detail string
	err    error
}

func (e *WrappedError) Error() string { return e.Detail + ": " + e.err.Error() }

func (e *WrappedError) Unwrap() error { return e.err }

// On wraps an error with the path or argument that the step worked on. It returns nil for nil.
func On(detail string, err error) error {
	if err == nil {
		return nil
	}
	return &WrappedError{detail, err}
}

// ErrNotEnforced is the error of a call of the self-test that succeeded but had to fail.
var ErrNotEnforced = errors.New("the attempt succeeded: the jail does not enforce the policy")

// Errno returns the system call error that err wraps, or 0.
func Errno(err error) syscall.Errno {
	var errno syscall.Errno
	errors.As(err, &errno)
	return errno
}

// ErrnoOrEIO returns err if it is a system call error, 0 for nil, and EIO for every other.
func ErrnoOrEIO(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if e, ok := err.(syscall.Errno); ok {
		return e
	}
	return syscall.EIO
}

// Names of steps.
const (
	// Exec starts the program. It is the only step whose failure is the program's.
	Exec = "exec"

	Namespaces             = "namespaces"
	PrivateMounts          = "private mounts"
	OwnFilesystems         = "own filesystems"
	Loopback               = "loopback"
	Capabilities           = "capabilities"
	CoreDumps              = "core dumps"
	Network                = "network"
	Overlays               = "copies"
	Spec                   = "spec"
	Server                 = "server"
	Supervision            = "supervision"
	SupervisorProc         = "proc of the supervisor"
	SupervisorCapabilities = "capabilities of the supervisor"
)
