//go:build darwin || linux

package mac

import (
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// The first arguments of the program that becomes the server, and of the watcher. They are not argv[0],
// which sandbox-exec chooses.
const (
	insideName = "mcp-jail: inside"
	watchName  = "mcp-jail: watcher"
)

// Main does the work of one of these, and does not return then. It returns at once if this process was
// started as something else.
func Main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == insideName:
		inside()
	case len(os.Args) == 4 && os.Args[1] == watchName:
		pid, err := strconv.Atoi(os.Args[2])
		if err != nil || pid <= 1 {
			os.Exit(2)
		}
		watch(pid, os.Args[3])
	}
}

// watch ends a process group when its launcher has ended, and removes the server's TMPDIR. A launcher that
// ends them itself kills the watcher.
func watch(group int, temp string) {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	io.Copy(io.Discard, os.Stdin)
	unix.Kill(-group, unix.SIGKILL)
	jail.RemoveTree(temp)
	os.Exit(0)
}

// Descriptors of the program inside, besides the first three. Its stderr is a pipe of the launcher, which
// so gets what sandbox-exec itself says.
const (
	insideSpecFD   = 3 // a pipe: the Spec
	insideReportFD = 4 // a pipe: readyByte, and an error as JSON. The execve closes it
	insideStderrFD = 5 // the server's stderr
)

const readyByte = '+'

// inside becomes the server. It is the first program under the profile.
func inside() {
	report := os.NewFile(insideReportFD, "reports")
	s, err := receive()
	if err == nil {
		err = prepare(s)
	}
	if err == nil {
		_, err = report.Write([]byte{readyByte})
	}
	if err == nil {
		err = syscall.Exec(s.Program, s.Argv, s.Env)
		err = &sys.Error{Step: sys.Exec, Errno: sys.Errno(err), Detail: s.Program}
	}
	json.NewEncoder(report).Encode(sys.Wrap(stepReady, err))
	os.Exit(1)
}

// receive reads the spec, and puts the server's stderr in its place.
func receive() (*spec.Spec, error) {
	in := os.NewFile(insideSpecFD, "spec")
	b, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	in.Close()
	s, err := spec.Decode(b)
	if err != nil {
		return nil, err
	}
	return s, sys.On("stderr", unix.Dup2(insideStderrFD, 2))
}

// prepare looks whether the profile holds, and sets what the server inherits.
func prepare(s *spec.Spec) error {
	if err := unix.Kill(os.Getppid(), 0); confines && err != unix.EPERM {
		return &sys.Error{Step: stepNotEnforced, Detail: "a signal to mcp-jail is not refused as the profile says"}
	}
	for _, l := range []struct{ resource, value int }{
		{unix.RLIMIT_NOFILE, s.Limits.OpenFiles}, {unix.RLIMIT_FSIZE, s.Limits.FileSizeMB << 20},
	} {
		if l.value > 0 {
			if err := lower(l.resource, uint64(l.value)); err != nil {
				return sys.Wrap("limits", err)
			}
		}
	}
	if err := lower(unix.RLIMIT_CORE, 0); err != nil {
		return sys.Wrap(sys.CoreDumps, err)
	}
	if s.Umask != spec.UnknownUmask {
		unix.Umask(s.Umask)
	}
	if err := unix.Chdir(s.Dir); err != nil {
		return &sys.Error{Step: "directory", Errno: sys.Errno(err), Detail: s.Dir}
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
