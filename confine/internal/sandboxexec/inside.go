//go:build darwin || linux

package sandboxexec

import (
	"io"
	"os"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"golang.org/x/sys/unix"
)

// Descriptors of the program inside, besides the first three. Its stderr is a pipe of the
// supervisor, which so gets what sandbox-exec itself says.
const (
	insideSpecFD   = 3 // a pipe: the Spec
	insideReportFD = 4 // a pipe: events for the supervisor. It is closed by the execve
	insideStderrFD = 5 // the server's stderr
)

// inside becomes the server. It is the first program under the profile. It executes the server only
// if the profile refuses every canary, and if the supervisor hears that it is ready.
func inside() {
	report := func(e spec.Event) error { return writeFull(insideReportFD, e.Encode()) }
	sp, err := receiveInside()
	if err == nil {
		err = prepareInside(sp)
	}
	if err == nil {
		err = report(spec.Event{Kind: spec.EventReady})
	}
	if err == nil {
		err = syscall.Exec(sp.Program, sp.Argv, sp.Env)
		err = &step.Error{Step: step.Exec, Errno: step.Errno(err), Detail: sp.Program}
	}
	e := step.Wrap(StepReady, err)
	report(spec.Event{Kind: spec.EventFailed, Step: e.Step, Num: int(e.Errno), Detail: e.Detail})
	os.Exit(1)
}

// receiveInside reads the spec, and puts the server's stderr in its place.
func receiveInside() (*spec.Spec, error) {
	b, err := io.ReadAll(io.LimitReader(fdReader(insideSpecFD), maxSpec))
	if err != nil {
		return nil, err
	}
	sp, err := spec.Decode(b)
	if err != nil {
		return nil, err
	}
	unix.Close(insideSpecFD)
	if err := unix.Dup2(insideStderrFD, 2); err != nil {
		return nil, step.On("stderr", err)
	}
	return sp, nil
}

// prepareInside checks that the profile holds, and sets what the server inherits.
func prepareInside(sp *spec.Spec) error {
	for _, k := range sp.Seatbelt.Canaries {
		if err := tryCanary(k); err != nil {
			return &step.Error{Step: StepNotEnforced, Errno: step.Errno(err), Detail: k.Attempt + " " + k.Target + ": " + err.Error()}
		}
	}
	for _, l := range []struct{ resource, value int }{
		{unix.RLIMIT_NOFILE, sp.Limits.OpenFiles}, {unix.RLIMIT_FSIZE, sp.Limits.FileSizeMB << 20},
	} {
		if l.value > 0 {
			if err := lower(l.resource, uint64(l.value)); err != nil {
				return step.Wrap("limits", err)
			}
		}
	}
	if err := lower(unix.RLIMIT_CORE, 0); err != nil {
		return step.Wrap(step.CoreDumps, err)
	}
	if sp.Seatbelt.Umask != spec.UnknownUmask {
		unix.Umask(sp.Seatbelt.Umask)
	}
	if err := unix.Chdir(sp.Dir); err != nil {
		return &step.Error{Step: "directory", Errno: step.Errno(err), Detail: sp.Dir}
	}
	return closeOthers()
}

// lower sets a limit for this process and all that it becomes. It raises none.
func lower(resource int, value uint64) error {
	var old unix.Rlimit
	if err := unix.Getrlimit(resource, &old); err != nil {
		return err
	}
	value = min(value, old.Max)
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: value, Max: value})
}

// maxInherited is up to where closeOthers looks for descriptors where the limit is higher.
const maxInherited = 1 << 16

// closeOthers keeps the server from inheriting any descriptor but its first three.
func closeOthers() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	for fd := 3; fd < int(min(max(limit.Cur, 1024), maxInherited)); fd++ {
		unix.CloseOnExec(fd) // of one that is not open: no effect
	}
	return nil
}

// tryCanary returns an error unless the system refuses the attempt with EPERM, as Seatbelt does.
// Another refusal proves nothing about the profile.
func tryCanary(k spec.Canary) error {
	undo, err := attempt(k)
	switch {
	case err == nil:
		undo()
		return step.ErrNotEnforced
	case step.Errno(err) == unix.EPERM:
		return nil
	}
	return &unprovedError{err}
}

// unprovedError is a canary that failed in another way than by a refusal of the profile.
type unprovedError struct{ err error }

func (e *unprovedError) Error() string { return "it failed, but not by the profile: " + e.err.Error() }

func (e *unprovedError) Unwrap() error { return e.err }
