package confine

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
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
	control *os.File // the init's socket: its order, then signals, a byte each
	notes   []string
	denials []Denial
	exit    Exit
	exited  bool // exit is what the init saw
	killed  bool // Kill came, perhaps before there was anything to kill
	done    chan struct{}
}

// shimFor is the shim that was started ahead, where it fits, or a new one.
func (l Launcher) shimFor(p *policy.Profile) *Shim {
	own := ownNetwork(p)
	if s := l.Ready.take(own); s != nil {
		return s
	}
	return l.spawn(own)
}

// start gives the shim its order and waits for what comes of it.
func (s *Shim) start(ctx context.Context, plan *Plan, stdio Stdio) (*Process, error) {
	made, err := makeDirs(plan.Profile)
	if err != nil {
		s.abandon()
		return nil, err
	}
	if plan.order.HostNames {
		plan.fillHostNames()
	}
	s.orders <- instruction{plan.order.encode(), stdio}
	select {
	case err := <-s.started:
		if err != nil {
			<-s.process.done
			removeDirs(made)
			return nil, refusedNamespaces(err)
		}
		return s.process, nil
	case <-ctx.Done():
		s.process.Kill()
		<-s.process.done
		removeDirs(made)
		return nil, ctx.Err()
	}
}

// makeDirs creates the directories that the profile asks for, with their
// parents, and returns those that were not there, deepest last. The private HOME
// and what leads to it are for the user alone.
func makeDirs(p *policy.Profile) (made []string, err error) {
	for _, e := range p.Entries {
		if !e.Make {
			continue
		}
		mode := fs.FileMode(0o777)
		if e.Origin == policy.OriginHome {
			mode = 0o700
		}
		var missing []string
		for dir := e.Path; ; dir = path.Dir(dir) {
			if _, err := os.Lstat(dir); err == nil || dir == "/" {
				break
			}
			missing = append(missing, dir)
		}
		slices.Reverse(missing)
		made = append(made, missing...)
		if err := os.MkdirAll(e.Path, mode); err != nil {
			removeDirs(made)
			return nil, &StartError{Step: "create directory", Detail: e.Path + " (" + e.Rule + ")", Errno: errnoOf(err)}
		}
	}
	return made, nil
}

// removeDirs takes back what makeDirs made, where it is still empty.
func removeDirs(made []string) {
	for _, dir := range slices.Backward(made) {
		unix.Rmdir(dir)
	}
}

func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	errors.As(err, &errno)
	return errno
}

// Shim is the init of a jail that is not built yet: it has its namespaces and
// waits to be told what to build. Starting one ahead hides the time of its start
// behind the time it takes to find out what it is for.
type Shim struct {
	process *Process
	ownNet  bool // it has a network namespace of its own
	orders  chan instruction
	started chan error
	mu      sync.Mutex
	taken   bool
}

// instruction is an order with the three descriptors of the server.
type instruction struct {
	order []byte
	stdio Stdio
}

// Prepare starts a shim ahead of the Start that will use it: see Launcher.Ready.
// It never fails; what went wrong is the error of that Start.
func (l Launcher) Prepare() *Shim { return l.spawn(true) }

// Discard ends a shim that no Start has used. It may be called at any time, on
// nil as well.
func (s *Shim) Discard() {
	if taken := s.take(true); taken != nil {
		taken.abandon()
	}
}

// abandon ends a shim that was taken and has no order yet.
func (s *Shim) abandon() {
	close(s.orders)
	<-s.process.done
}

// take claims the shim, once, for a jail with or without a network of its own.
func (s *Shim) take(ownNet bool) *Shim {
	if s == nil || s.ownNet != ownNet {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken {
		return nil
	}
	s.taken = true
	return s
}

func (l Launcher) spawn(ownNet bool) *Shim {
	s := &Shim{
		process: &Process{pidfd: -1, done: make(chan struct{})},
		ownNet:  ownNet, orders: make(chan instruction, 1), started: make(chan error, 1),
	}
	path := l.Shim
	if path == "" {
		path = selfPath
	}
	go s.run(path)
	return s
}

// run owns the jail's init from its first moment to its last. It stays on one
// thread, because the kernel's parent-death signal means the thread that forked.
func (s *Shim) run(path string) {
	p := s.process
	defer close(p.done)
	runtime.LockOSThread()
	status, err := s.fork(path)
	if err != nil {
		s.started <- err
		return
	}
	todo, used := <-s.orders
	if used {
		// A shim that dies early breaks the socket; why, it says on the pipe.
		sendOrder(p.control, todo)
		err = p.listen(status, s.started)
	}
	status.Close()
	if !used || err != nil {
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
	p.control.Close()
	if !p.exited {
		// The init did not live to tell: the kernel killed the program with it.
		p.exit = Exit{Code: 128 + int(unix.SIGKILL), Signal: unix.SIGKILL}
	}
	p.mu.Unlock()
	if err != nil {
		s.started <- err
	}
}

// fork starts the shim in its namespaces. It returns our end of the pipe for its
// messages; that of the socket for the order and for signals stays in the process.
func (s *Shim) fork(path string) (status *os.File, err error) {
	failed := func(err error) (*os.File, error) {
		return nil, &StartError{Step: "descriptors", Errno: errnoOf(err)}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return failed(err)
	}
	defer null.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return failed(err)
	}
	control, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	status, statusW, err := os.Pipe()
	if err != nil {
		control.Close()
		return failed(err)
	}
	defer statusW.Close()
	uid, gid := os.Getuid(), os.Getgid()
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP)
	argv := []string{shimName}
	if s.ownNet {
		flags |= unix.CLONE_NEWNET
		argv = append(argv, shimOwnNet)
	}
	p := s.process
	pidfd := -1
	defer dumpableForMaps()()
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), theirs.Fd(), statusW.Fd()},
		Env:   []string{},
		Sys: &syscall.SysProcAttr{
			Setsid:      true,
			Cloneflags:  flags,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
			AmbientCaps: setupCapabilities,
			PidFD:       &pidfd,
		},
	})
	if err != nil {
		control.Close()
		status.Close()
		return nil, &StartError{Step: stepNamespaces, Errno: errnoOf(err)}
	}
	p.mu.Lock()
	p.pid, p.pidfd, p.control = pid, pidfd, control
	if p.killed {
		unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
	}
	p.mu.Unlock()
	return status, nil
}

// sendOrder passes the order and, with its first byte, the server's descriptors.
// A nil file is /dev/null, which the shim has there already.
func sendOrder(socket *os.File, i instruction) {
	var fds []int
	present := byte(0)
	for n, f := range []*os.File{i.stdio.In, i.stdio.Out, i.stdio.Err} {
		if f != nil {
			present |= 1 << n
			fds = append(fds, int(f.Fd()))
		}
	}
	var rights []byte
	if fds != nil {
		rights = unix.UnixRights(fds...)
	}
	if unix.Sendmsg(int(socket.Fd()), []byte{present}, rights, nil, unix.MSG_NOSIGNAL) != nil {
		return
	}
	runtime.KeepAlive(i.stdio)
	socket.Write(binary.BigEndian.AppendUint32(nil, uint32(len(i.order))))
	socket.Write(i.order)
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
		p.exit, p.exited = Exit{Code: m.num, Signal: syscall.Signal(m.pid)}, true
	}
}

func (plan *Plan) fillHostNames() {
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
	if s == syscall.SIGKILL {
		return unix.PidfdSendSignal(p.pidfd, s, nil, 0)
	}
	if s <= 0 || s > 64 {
		return syscall.EINVAL
	}
	_, err := p.control.Write([]byte{byte(s)})
	return err
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
