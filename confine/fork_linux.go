package confine

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// fork starts the supervisor process. It returns this side's end of the socket (with host
// namespaces: the pipe) for its events. The socket for signals, and for the spec of a jail with
// host namespaces, stays in the Process.
func (p *starter) fork(path string) (events *os.File, err error) {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &sys.Error{Step: "descriptors", Errno: sys.Errno(err), Detail: os.DevNull}
	}
	defer unix.Close(null)
	control, theirs, err := connected()
	if err != nil {
		return nil, &sys.Error{Step: "descriptors", Errno: sys.Errno(err)}
	}
	defer unix.Close(theirs)
	pidfd := -1
	attr := &syscall.ProcAttr{Files: []uintptr{uintptr(null), uintptr(null), uintptr(null)}, Sys: p.attributes()}
	attr.Sys.PidFD = &pidfd
	var pid int
	if p.hostNamespaces {
		pid, events, err = p.forkHostNS(path, attr, theirs)
	} else {
		pid, events, err = p.forkStub(path, attr, theirs)
	}
	if err != nil {
		control.Close()
		return nil, err
	}
	process := p.process
	process.mu.Lock()
	process.pid, process.pidfd, process.control = pid, pidfd, control
	// Kill was called before there was a process that it could signal.
	if process.killed {
		unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
	}
	process.mu.Unlock()
	if p.stub != nil {
		go p.watchExit(pidfd)
	}
	return events, nil
}

func connected() (ours *os.File, theirs int, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, err
	}
	return os.NewFile(uintptr(pair[0]), "socket of a supervisor process"), pair[1], nil
}

// forkStub starts the stub that builds a jail with namespaces. The stub later executes the program
// at path as the jail's supervisor.
func (p *starter) forkStub(path string, attr *syscall.ProcAttr, control int) (pid int, events *os.File, err error) {
	failed := func(step, detail string, err error) (int, *os.File, error) {
		return 0, nil, &sys.Error{Step: step, Errno: sys.Errno(err), Detail: detail}
	}
	supervisor, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return failed("init", path, err)
	}
	defer unix.Close(supervisor)
	if err := kernel.IsStatic(path); err != nil {
		return failed("init", err.Error(), nil)
	}
	made, err := stub.New()
	if err != nil {
		return failed("init", "its memory", err)
	}
	defer made.CloseMemory()
	program, err := stub.Program()
	if err != nil {
		made.Free()
		what := "its program, a memory file"
		if sys.Errno(err) == unix.EACCES {
			what += ", which the kernel does not execute while vm.memfd_noexec is 2: set it to 1 or 0 (sysctl vm.memfd_noexec=1)"
		}
		return failed("init", what, err)
	}
	events, theirs, err := connected()
	if err != nil {
		made.Free()
		return failed("descriptors", "", err)
	}
	defer unix.Close(theirs)
	// The stub finds each at its number: the memory is 3, the others are spec.ControlFD to StubExeFD.
	attr.Files = append(attr.Files, uintptr(made.Memory()), uintptr(control), uintptr(program), uintptr(theirs), uintptr(supervisor))
	pid, err = syscall.ForkExec("/proc/self/fd/"+strconv.Itoa(spec.ProgramFD), []string{spec.InitName}, attr)
	if err != nil {
		made.Free()
		events.Close()
		return failed(sys.Namespaces, "", err)
	}
	p.stub, p.gone = made, make(chan struct{})
	return pid, events, nil
}

func (p *starter) forkHostNS(path string, attr *syscall.ProcAttr, control int) (pid int, events *os.File, err error) {
	var pipe [2]int // not os.Pipe: the supervisor would have to set up a poller for its end
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return 0, nil, &sys.Error{Step: "descriptors", Errno: sys.Errno(err)}
	}
	events = os.NewFile(uintptr(pipe[0]), "events")
	defer unix.Close(pipe[1])
	attr.Files = sys.PadFDTable(append(attr.Files, uintptr(control), uintptr(pipe[1]))...)
	attr.Env = []string{"GOMAXPROCS=" + strconv.Itoa(spec.MaxProcs), "GOGC=off"} // see startProgram in package supervisor
	if pid, err = syscall.ForkExec(path, []string{spec.SupervisorName, p.umaskText()}, attr); err != nil {
		events.Close()
		return 0, nil, &sys.Error{Step: "init", Errno: sys.Errno(err)}
	}
	return pid, events, nil
}

// attributes returns the attributes that the supervisor process is forked with.
//
// With namespaces the supervisor process maps its IDs itself, as its first step. So the fork need
// not wait for the launcher, and can use CLONE_VFORK and CLONE_VM, which copy no page tables.
// Package syscall adds these flags only without CLONE_NEWUSER, so they are set here. After a fork
// that copies, each page that the launcher writes to interrupts the other processors that run its
// threads.
func (p *starter) attributes() *syscall.SysProcAttr {
	if p.hostNamespaces {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: unix.CLONE_VFORK | unix.CLONE_VM | unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		AmbientCaps: setupCapabilities,
	}
}

func (p *starter) umaskText() string {
	if p.umask == nil {
		return ""
	}
	return strconv.FormatInt(int64(*p.umask&0o777), 8)
}
