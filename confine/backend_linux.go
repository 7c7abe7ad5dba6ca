package confine

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// setupCapabilities are what building the jail takes inside its own user
// namespace. The shim gives all of them up before the server starts.
var setupCapabilities = []uintptr{
	unix.CAP_SYS_ADMIN,    // mounts, pivot_root, hostname
	unix.CAP_NET_ADMIN,    // lo
	unix.CAP_SETPCAP,      // to give capabilities up for good
	unix.CAP_SYS_RESOURCE, // max_user_namespaces
	unix.CAP_DAC_OVERRIDE, // names below a mask that nobody may list
}

// Process is a program in its jail.
type Process struct {
	mu      sync.Mutex
	pid     int // of the jail's init, as the host sees it
	pidfd   int
	notes   []string
	denials []Denial
	exit    Exit
	killed  bool // Kill came, perhaps before there was anything to kill
	done    chan struct{}
}

// start builds the jail and starts the program in it.
func start(ctx context.Context, plan *Plan, shimPath string, stdio Stdio) (*Process, error) {
	for _, e := range plan.Profile.Entries {
		if e.Make {
			if err := makeDir(e); err != nil {
				return nil, err
			}
		}
	}
	if plan.order.HostNames {
		resolv, hosts := hostNetworkFiles()
		for i := range plan.order.Files {
			switch f := &plan.order.Files[i]; f.Path {
			case "/etc/resolv.conf":
				f.Content = resolv
			case "/etc/hosts":
				f.Content = hosts
			}
		}
	}
	p := &Process{pidfd: -1, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(plan, shimPath, stdio, started)
	select {
	case err := <-started:
		if err != nil {
			<-p.done
			return nil, refusedNamespaces(err)
		}
		return p, nil
	case <-ctx.Done():
		p.Kill()
		<-p.done
		return nil, ctx.Err()
	}
}

// makeDir creates a directory that the profile asks for. The parents are made
// too, private to the user when it is the server's HOME.
func makeDir(e policy.Entry) error {
	mode := fs.FileMode(0o777)
	if e.Origin == policy.OriginHome {
		mode = 0o700
	}
	if err := os.MkdirAll(e.Path, mode); err != nil {
		return &StartError{Step: "create directory", Detail: e.Path + " (" + e.Rule + ")", Errno: errnoOf(err)}
	}
	return nil
}

func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	errors.As(err, &errno)
	return errno
}

// run owns the jail's init from its first moment to its last. It stays on one
// thread, because the kernel's parent-death signal means the thread that forked.
func (p *Process) run(plan *Plan, shimPath string, stdio Stdio, started chan<- error) {
	defer close(p.done)
	runtime.LockOSThread()
	status, err := p.spawn(plan, shimPath, stdio)
	if err != nil {
		started <- err
		return
	}
	err = p.listen(status, started)
	status.Close()
	if err != nil {
		p.Kill()
	}
	var ws syscall.WaitStatus
	for {
		if _, werr := syscall.Wait4(p.pid, &ws, 0, nil); werr != syscall.EINTR {
			break
		}
	}
	p.mu.Lock()
	unix.Close(p.pidfd)
	p.pidfd = -1
	if ws.Signaled() && p.exit == (Exit{}) {
		p.exit = Exit{Code: 128 + int(ws.Signal()), Signal: ws.Signal()}
	}
	p.mu.Unlock()
	if err != nil {
		started <- err
	}
}

// spawn forks the shim into its namespaces and hands it the order.
func (p *Process) spawn(plan *Plan, shimPath string, stdio Stdio) (*os.File, error) {
	var files [5]*os.File
	for i, f := range []*os.File{stdio.In, stdio.Out, stdio.Err} {
		if f == nil {
			null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			if err != nil {
				return nil, &StartError{Step: "descriptors", Errno: errnoOf(err)}
			}
			defer null.Close()
			f = null
		}
		files[i] = f
	}
	orderR, orderW, err := os.Pipe()
	if err != nil {
		return nil, &StartError{Step: "descriptors", Errno: errnoOf(err)}
	}
	defer orderW.Close()
	statusR, statusW, err := os.Pipe()
	if err != nil {
		orderR.Close()
		return nil, &StartError{Step: "descriptors", Errno: errnoOf(err)}
	}
	files[orderFD], files[statusFD] = orderR, statusW
	fds := make([]uintptr, len(files))
	for i, f := range files {
		fds[i] = f.Fd()
	}
	uid, gid := os.Getuid(), os.Getgid()
	p.mu.Lock()
	p.pid, err = syscall.ForkExec(shimPath, []string{shimName}, &syscall.ProcAttr{
		Files: fds,
		Env:   []string{},
		Sys: &syscall.SysProcAttr{
			Setsid:      true,
			Cloneflags:  plan.cloneFlags(),
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
			AmbientCaps: setupCapabilities,
			PidFD:       &p.pidfd,
		},
	})
	if err == nil && p.killed {
		unix.PidfdSendSignal(p.pidfd, unix.SIGKILL, nil, 0)
	}
	p.mu.Unlock()
	runtime.KeepAlive(files)
	orderR.Close()
	statusW.Close()
	if err != nil {
		statusR.Close()
		return nil, &StartError{Step: stepNamespaces, Errno: errnoOf(err)}
	}
	// A shim that dies early breaks the pipe; why, it says on the other one.
	orderW.Write(plan.order.encode())
	return statusR, nil
}

func (plan *Plan) cloneFlags() uintptr {
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP)
	if plan.order.Loopback {
		flags |= unix.CLONE_NEWNET
	}
	return flags
}

// refusedNamespaces turns the error of a start into a gap where the cause is
// that this host forbids user namespaces: either they cannot be made, or (with
// AppArmor) nothing can be done inside them.
func refusedNamespaces(err error) error {
	var se *StartError
	if !errors.As(err, &se) || se.Step == StepExec {
		return err
	}
	if se.Step == stepNamespaces {
		switch se.Errno {
		case unix.EPERM, unix.ENOSPC, unix.EUSERS, unix.ENOSYS, unix.EINVAL, unix.EACCES:
			return userNamespaceGap(userNamespacesRefused(se.Errno))
		}
	}
	if se.Errno == unix.EPERM || se.Errno == unix.EACCES {
		if f := probed.get("userns", probeUserNamespaces); f.Answer == No {
			return userNamespaceGap(f)
		}
	}
	return err
}

const stepNamespaces = "namespaces"

// listen reads what the shim says until it ends. It returns the error of a
// start that failed; started gets nil as soon as the program runs.
func (p *Process) listen(status io.Reader, started chan<- error) error {
	running := false
	for {
		m, err := readMessage(status)
		if err != nil {
			if running {
				return nil
			}
			return &StartError{Step: "init", Detail: "the shim ended without saying why"}
		}
		switch m.kind {
		case saysStarted:
			running = true
			started <- nil
		case saysFailed:
			return &StartError{Step: m.step, Errno: syscall.Errno(m.num), Detail: m.detail}
		default:
			p.record(m)
		}
	}
}

func (p *Process) record(m message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.kind {
	case saysNote:
		p.notes = append(p.notes, m.detail)
	case saysDenied:
		p.denials = append(p.denials, Denial{
			Axis: policy.AxisLimits, Operation: m.detail, Target: "memory_mb = " + strconv.Itoa(m.num),
			PID: m.pid, Program: m.program, Count: 1, Time: time.Now(),
		})
	case saysExit:
		p.exit = Exit{Code: m.num, Signal: syscall.Signal(m.pid)}
	}
}

func readMessage(r io.Reader) (message, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return message{}, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > 64<<10 {
		return message{}, errOrder
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return message{}, err
	}
	return decodeMessage(b)
}

// PID is the process number of the jail's init on the host.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// Signal passes a signal on to the program. SIGKILL ends the whole jail.
func (p *Process) Signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return syscall.EINVAL
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pidfd < 0 {
		return os.ErrProcessDone
	}
	return unix.PidfdSendSignal(p.pidfd, s, nil, 0)
}

// Kill ends every process of the jail at once: the kernel does it when the init
// of a PID namespace dies (pid_namespaces(7)).
func (p *Process) Kill() error {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	return p.Signal(syscall.SIGKILL)
}

// Done is closed when every process of the jail is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns how the program ended, once every process of the jail is gone.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit, nil
}

// Denials are the refusals that the jail recorded so far.
func (p *Process) Denials() []Denial {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Denial(nil), p.denials...)
}

// Notes are remarks of the jail about itself, worth showing with --log-level.
func (p *Process) Notes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.notes...)
}
