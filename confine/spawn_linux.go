package confine

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// setupCapabilities are what building the jail takes inside its own user
// namespace. The shim gives all of them up before the server starts.
var setupCapabilities = []uintptr{
	unix.CAP_SYS_ADMIN, // mounts, pivot_root, hostname
	unix.CAP_NET_ADMIN, // lo
	unix.CAP_NET_RAW,   // to see what the jail's own network refuses
	unix.CAP_NET_BIND_SERVICE,
	unix.CAP_SETPCAP,      // to give capabilities up for good
	unix.CAP_SYS_RESOURCE, // max_user_namespaces
	unix.CAP_DAC_OVERRIDE, // names below a mask that nobody may list
	unix.CAP_SYS_PTRACE,   // the supervisor's, which reads arguments
}

// Shim is the init of a jail that is not built yet: it has its namespaces and
// waits to be told what to build. Starting one ahead hides the time of its start
// behind the time it takes to find out what it is for.
type Shim struct {
	process *Process
	kind    string        // shimOwnNet or shimBare
	umask   string        // the program's, octal; "" is ours
	forked  chan struct{} // closed when process has its socket, or will have none
	orders  chan instruction
	started chan error
	cgroup  *jailCgroup // nil where there is none
	mu      sync.Mutex
	taken   bool
}

// instruction is an order with the three descriptors of the server.
type instruction struct {
	order []byte
	stdio Stdio
	sent  bool  // it is on its way already
	err   error // or cannot be sent
}

// sentAtOnce is what the buffer of a socket holds in any case (212,992 bytes by default,
// with what the kernel needs for itself).
const sentAtOnce = 64 << 10

// instruct has the shim carry a plan out. Where nothing has to be done before, the
// order is sent from here: handing it to the thread that owns the shim takes longer
// than the kernel does to attach some mounts. One that the socket may not take at once is
// not: a start that waits for a shim to read could not be called off.
func (s *Shim) instruct(plan *Plan, i instruction) {
	if plan.place.none() && len(i.order) <= sentAtOnce {
		<-s.forked
		if s.process.control != nil {
			i.err = sendOrder(s.process.control, i)
			i.sent = true
		}
	}
	s.orders <- i
}

// Prepare starts a shim ahead of the Start that will use it: see Launcher.Ready.
// It never fails; what went wrong is the error of that Start.
func (l Launcher) Prepare() *Shim { return l.spawn(shimOwnNet) }

// spawnBare starts a shim without namespaces. Only a plan that says so may use it.
func (l Launcher) spawnBare() *Shim { return l.spawn(shimBare) }

// Discard ends a shim that no Start has used. It may be called at any time, on
// nil as well.
func (s *Shim) Discard() {
	if taken := s.take(shimOwnNet); taken != nil {
		taken.abandon()
	}
}

// abandon ends a shim that was taken and has no order yet.
func (s *Shim) abandon() {
	close(s.orders)
	<-s.process.done
}

// take claims the shim, once, if it is of that kind.
func (s *Shim) take(kind string) *Shim {
	if s == nil || s.kind != kind {
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

func (l Launcher) spawn(kind string) *Shim {
	s := &Shim{
		process: &Process{pidfd: -1, done: make(chan struct{})},
		kind:    kind, forked: make(chan struct{}), orders: make(chan instruction, 1), started: make(chan error, 1),
	}
	if l.Umask != nil {
		s.umask = strconv.FormatInt(int64(*l.Umask&0o777), 8) // as umask(2) takes it
	}
	path := l.Shim
	if path == "" {
		path = selfPath
	}
	go s.run(path)
	// The caller has something to do meanwhile, on another thread: here and now the
	// goroutine gets this one.
	runtime.Gosched()
	return s
}

// run owns the jail's init from its first moment to its last. It stays on one
// thread, because the kernel's parent-death signal means the thread that forked.
func (s *Shim) run(path string) {
	p := s.process
	mounts := -1
	defer func() {
		p.over()
		unix.Close(mounts)
		for _, fd := range p.packets {
			unix.Close(fd)
		}
	}()
	runtime.LockOSThread()
	status, err := s.fork(path)
	close(s.forked)
	if err != nil {
		s.started <- err
		return
	}
	// The mounts end with whoever holds them last, and the kernel has all processors
	// take notice before it lets him go on. That need not be the init, whose end is
	// waited for.
	mounts, _ = unix.Open("/proc/"+strconv.Itoa(p.pid)+"/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	todo, used := <-s.orders
	if used {
		if err = s.limitCgroup(p.plan); err == nil {
			p.leaves = s.cgroup != nil // before anybody hears its init
			stop := s.watchCgroup()
			if !todo.sent {
				todo.err = sendOrder(p.control, todo)
			}
			if err = todo.err; err == nil {
				err = p.openGate()
			}
			if err == nil {
				err = p.listen(status, s.started)
			}
			stop()
		}
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
	s.leaveCgroup()
	p.closeGate()
	p.mu.Lock()
	p.afterBare()
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
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return failed(err)
	}
	defer unix.Close(null)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return failed(err)
	}
	control := os.NewFile(uintptr(pair[0]), "control")
	defer unix.Close(pair[1])
	var pipe [2]int // not os.Pipe: the shim would have to set a poller up for its end
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		control.Close()
		return failed(err)
	}
	status = os.NewFile(uintptr(pipe[0]), "status")
	defer unix.Close(pipe[1])
	p := s.process
	pidfd := -1
	sys := s.attributes()
	sys.PidFD = &pidfd
	argv := []string{shimName, s.kind, strconv.Itoa(os.Getuid()), strconv.Itoa(os.Getgid()), s.umask}
	attr := &syscall.ProcAttr{
		Files: withRoom(uintptr(null), uintptr(null), uintptr(null), uintptr(pair[1]), uintptr(pipe[1])),
		Env:   []string{"GOMAXPROCS=" + strconv.Itoa(runsAtOnce), "GOGC=off"}, // see startProgram
		Sys:   sys,
	}
	var pid int
	calmly(argv, func(argv []string) { pid, err = s.forkIntoCgroup(path, argv, attr) })
	if err != nil {
		control.Close()
		status.Close()
		step := stepNamespaces
		if s.kind == shimBare {
			step = "init"
		}
		return nil, &StartError{Step: step, Errno: errnoOf(err)}
	}
	p.mu.Lock()
	p.pid, p.pidfd, p.control = pid, pidfd, control
	if p.killed {
		unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
	}
	p.mu.Unlock()
	return status, nil
}

// attributes are what the shim is born with.
//
// It maps its ids itself, as its first step: then the fork need not wait for us to
// do it, and can be one that copies no page tables (CLONE_VFORK and CLONE_VM, which
// the package syscall adds only where it is not told of a user namespace). A copied
// page that this process writes to afterwards interrupts its other processors.
func (s *Shim) attributes() *syscall.SysProcAttr {
	if s.kind == shimBare {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: unix.CLONE_VFORK | unix.CLONE_VM | unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWNET,
		AmbientCaps: setupCapabilities,
	}
}

// sendOrder passes the order and, with its first byte, the server's descriptors.
// A nil file is /dev/null, which the shim has there already. A shim that dies early
// breaks the socket, which is no error here: why, it says on the pipe.
func sendOrder(socket *os.File, i instruction) error {
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
	err := unix.Sendmsg(int(socket.Fd()), []byte{present}, rights, nil, unix.MSG_NOSIGNAL)
	runtime.KeepAlive(i.stdio)
	if err == nil {
		_, err = socket.Write(binary.BigEndian.AppendUint32(nil, uint32(len(i.order))))
	}
	if err == nil {
		_, err = socket.Write(i.order)
	}
	if err == nil || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		return nil
	}
	return &StartError{Step: "order", Errno: errnoOf(err)}
}
