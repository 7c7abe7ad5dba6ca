package step

import (
	"syscall"
)

// StartError says that the jail could not be built or the program in it could
// not be started. Step names the part: everything but StepExec is a failure of
// confinement; StepExec is a failure of the program (missing, not executable,
// wrong format, its interpreter is missing). An upgrade of the host that replaces a file
// between policy.Resolve and Start is such a failure: a caller resolves again, and starts
// what it got if the Key of the profile is another one and what its rules name is not.
type Error struct {
	Step   string        // "namespaces", "mounts", "landlock", …, StepExec
	Errno  syscall.Errno // 0 when the kernel was not the one to refuse
	Detail string        // the path or argument that the step worked on; without an Errno, why it failed
}

// StepExec is the only step of a StartError that concerns the program rather
// than the jail.
const StepExec = "exec"

func (e *Error) Error() string {
	s := "step " + e.Step + " failed"
	if e.Step == StepExec {
		s = "the program could not be started"
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Errno != 0 {
		s += ": " + e.Errno.Error()
	}
	return s
}

func (e *Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}
