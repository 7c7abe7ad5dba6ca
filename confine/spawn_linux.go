package confine

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/probe"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// setupCapabilities are what building the jail takes inside its own user
// namespace. All of them are given up before there is a server.
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

// Shim is the init of a jail that is not built yet: it has its namespaces, and waits
// until it is known what to build. Starting one ahead hides the time of its start
// behind the time it takes to find out what it is for.
type Shim struct {
	Process   *Process
	kind      string     // shimOwnNet or shimBare
	umask     *int       // the program's; nil is ours
	stub      *stub.Stub // nil without namespaces
	testHooks jail.TestHooks
	gone      chan struct{} // closed when nobody waits for the stub any more
	orders    chan instruction
	todo      *instruction // the one that came
	mounts    int          // the jail's mount namespace
	started   chan error
	Cgroup    *cgroup.JailCgroup // nil where there is none
	mu        sync.Mutex
	taken     bool
}

// Kinds of shims.
const (
	ShimOwnNet = "own-network" // namespaces of all kinds: a stub
	ShimBare   = "bare"        // none: this program once more, see ShimMain
)

// instruction is an order with the three descriptors of the server.
type instruction struct {
	plan  *plan.Plan
	order spec.Order
	stdio jail.Stdio
}

// instruct has the shim carry a plan out.
func (s *Shim) instruct(i instruction) { s.orders <- i }

// Prepare starts a shim ahead of the Start that will use it: see Launcher.Ready.
// It never fails; what went wrong is the error of that Start.
func (l Launcher) Prepare() *Shim { return l.Spawn(ShimOwnNet) }

// spawnBare starts a shim without namespaces. Only a plan that says so may use it.
func (l Launcher) SpawnBare() *Shim { return l.Spawn(ShimBare) }

// Discard ends a shim that no Start has used. It may be called at any time, on
// nil as well.
func (s *Shim) Discard() {
	if taken := s.take(ShimOwnNet); taken != nil {
		taken.abandon()
	}
}

// abandon ends a shim that was taken and has no order yet.
func (s *Shim) abandon() {
	close(s.orders)
	<-s.Process.done
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

func (l Launcher) Spawn(kind string) *Shim {
	s := &Shim{
		Process: &Process{Pidfd: -1, done: make(chan struct{})},
		kind:    kind, orders: make(chan instruction, 1), started: make(chan error, 1),
	}
	s.umask, s.testHooks, s.mounts = l.Umask, l.TestHooks, -1
	path := l.Shim
	if path == "" {
		path = probe.SelfPath
	}
	go s.run(path)
	// The caller has something to do meanwhile, on another thread: here and now the
	// goroutine gets this one.
	runtime.Gosched()
	return s
}

// run owns the jail's init from its first moment to its last. It stays on one
// thread, because the kernel's parent-death signal means the thread that forked.
//
// A jail with namespaces that cannot be built by lists is built once more, call by call:
// what an older kernel does not have is done without then, and a failure has a name.
func (s *Shim) run(path string) {
	p := s.Process
	defer func() {
		p.over()
		unix.Close(s.mounts)
		for _, fd := range p.packets {
			unix.Close(fd)
		}
	}()
	runtime.LockOSThread()
	careful := s.testHooks.Steps != nil && !s.testHooks.Lists
	err := s.live(path, careful)
	if err == errBornElsewhere {
		err = s.live(path, careful)
	}
	if stub.IsBatchError(err) {
		err = s.live(path, true)
	}
	if err != nil {
		s.started <- jail.WrapStep("init", err)
	}
}

// errBornElsewhere ends a life whose processes are not where they are to be: in a cgroup that
// somebody else makes around those that are there. There has to be one alone then, which all
// others come from.
var errBornElsewhere = errors.New("the jail's processes are in no cgroup of their own")

// live is the life of one init.
func (s *Shim) live(path string, careful bool) error {
	p := s.Process
	status, err := s.fork(path)
	if err != nil {
		return err
	}
	// The mounts end with whoever holds them last, and the kernel has all processors
	// take notice before it lets him go on. That need not be the init, whose end is
	// waited for.
	unix.Close(s.mounts)
	s.mounts, _ = unix.Open("/proc/"+strconv.Itoa(p.pid)+"/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	life := s.lead
	if s.kind == ShimBare {
		life = s.leadBare
	} else if careful {
		s.stub.SetStepwise()
	}
	used, err := life(status)
	if !used || err != nil || s.stub != nil {
		s.endInit()
	}
	var ws syscall.WaitStatus
	for {
		if _, werr := syscall.Wait4(p.pid, &ws, 0, nil); werr != syscall.EINTR {
			break
		}
	}
	s.leaveCgroup()
	if err != errBornElsewhere && (careful || !stub.IsBatchError(err)) { // else there is one more, for whom nothing was opened yet
		p.closeGate()
	}
	s.freeStub()
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.afterBare()
	unix.Close(p.Pidfd)
	p.Pidfd = -1
	p.control.Close()
	if !p.exited {
		// The init did not live to tell: the kernel killed the program with it.
		p.exit = Exit{Code: 128 + int(unix.SIGKILL), Signal: unix.SIGKILL}
	}
	return err
}

// endInit ends what there is of a jail.
func (s *Shim) endInit() {
	p := s.Process
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if p.noInit && s.kind == ShimBare {
		p.endBare()
		return
	}
	unix.PidfdSendSignal(p.Pidfd, unix.SIGKILL, nil, 0)
}

// sendOrder passes the order and, with its first byte, the server's descriptors.
// A nil file is /dev/null, which the shim has there already. A shim that dies early
// breaks the socket, which is no error here: why, it says on the pipe.
func sendOrder(socket *os.File, stdio jail.Stdio, order []byte) error {
	var fds []int
	present := byte(0)
	for n, f := range []*os.File{stdio.In, stdio.Out, stdio.Err} {
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
	runtime.KeepAlive(stdio)
	if err == nil {
		_, err = socket.Write(binary.BigEndian.AppendUint32(nil, uint32(len(order))))
	}
	if err == nil {
		_, err = socket.Write(order)
	}
	if err == nil || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		return nil
	}
	return &step.Error{Step: "order", Errno: step.Errno(err)}
}

// order is what the shim is to do, or that there is nothing. It is asked for again where
// a jail is built once more.
func (s *Shim) order() (*instruction, bool) {
	if s.todo == nil {
		todo, used := <-s.orders
		if !used {
			return nil, false
		}
		s.todo = &todo
	}
	return s.todo, true
}

// leadBare gives a jail without namespaces its order, and hears what comes of it.
func (s *Shim) leadBare(status *os.File) (used bool, err error) {
	p := s.Process
	defer status.Close()
	todo, used := s.order()
	if !used {
		return false, nil
	}
	if err := s.limitCgroup(p.plan); err != nil {
		return true, err
	}
	p.leaves = s.Cgroup != nil // before anybody hears its init
	defer s.watchCgroup()()
	if err := sendOrder(p.control, todo.stdio, todo.order.Encode()); err != nil {
		return true, err
	}
	if err := p.openGate(func() { p.control.Write([]byte{1}) }); err != nil {
		return true, err
	}
	if err = p.listen(status, s.started); err == nil {
		p.lost(LostJail)
	}
	return true, err
}

// freeStub gives back the memory of a stub that has ended.
func (s *Shim) freeStub() {
	if s.stub == nil {
		return
	}
	<-s.gone
	s.stub.Free()
	s.stub = nil
}

// seeDeath has everybody return who waits for the stub, when it has ended.
func (s *Shim) seeDeath(pidfd int) {
	defer close(s.gone)
	own, err := unix.FcntlInt(uintptr(pidfd), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(own, true)
	}
	if err == nil {
		f := os.NewFile(uintptr(own), "pidfd")
		defer f.Close()
		if conn, err := f.SyscallConn(); err == nil {
			conn.Read(func(fd uintptr) bool { return sys.WaitReadable(int(fd), 0) })
		}
	}
	sys.WaitReadable(pidfd, -1) // at once, where the runtime could wait
	s.stub.MarkExited()
}
