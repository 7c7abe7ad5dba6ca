package confine

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// setupCapabilities are the capabilities that building the jail needs inside its own user
// namespace. The init and the server give up all of them before the program is executed. The
// supervisor process keeps CAP_SYS_PTRACE if calls are mediated, and otherwise none.
var setupCapabilities = []uintptr{
	unix.CAP_SYS_ADMIN, // mounts, pivot_root, hostname
	unix.CAP_NET_ADMIN, // lo
	unix.CAP_NET_RAW,   // the packet socket that shows refused packets
	unix.CAP_NET_BIND_SERVICE,
	unix.CAP_SETPCAP,      // to give capabilities up for good
	unix.CAP_SYS_RESOURCE, // max_user_namespaces
	unix.CAP_DAC_OVERRIDE, // names below a mask, whose mode allows no access
	unix.CAP_SYS_PTRACE,   // the supervisor's, which reads arguments
}

// A starter has the supervisor process of one jail, and the launcher's state for building that jail. With namespaces
// the process is the stub's outer process, which is in the new namespaces already and executes the supervisor later.
type starter struct {
	process        *Process
	hostNamespaces bool       // the process is the supervisor itself: see RunSupervisor. Else it is a stub in new namespaces
	umask          *int       // the program's; nil: that of this process
	stub           *stub.Stub // nil without namespaces
	testHooks      jail.TestHooks
	gone           chan struct{} // closed when no goroutine waits for the stub any more
	requests       chan startRequest
	pending        *startRequest // the received request; nil before
	mounts         int           // a descriptor of the jail's mount namespace, or -1
	started        chan error
	cgroup         *kernel.Cgroup // nil if there is none
}

// startRequest is a plan for the goroutine of run, with the three descriptors of the server.
type startRequest struct {
	plan  *plan.Plan
	spec  spec.Spec
	stdio jail.Stdio
	kept  *Kept // nil: nothing is kept
	ahead bool  // only the jail is built; another request starts the server in it

	beforeExec func() error // nil: there is none
}

// beforeExecError is an error of Launcher.BeforeExec.
type beforeExecError struct{ error }

func (r *startRequest) allowExec() error {
	if r.beforeExec == nil {
		return nil
	}
	if err := r.beforeExec(); err != nil {
		return beforeExecError{err}
	}
	return nil
}

func (p *starter) send(i startRequest) { p.requests <- i }

// cancel ends a supervisor process to which no request was sent.
func (p *starter) cancel() {
	close(p.requests)
	<-p.process.done
}

// spawn starts a supervisor process. It returns no error: the start that uses the process says what went wrong.
func (l Launcher) spawn(hostNamespaces bool) *starter {
	s := &starter{
		process:        &Process{pidfd: -1, done: make(chan struct{}), keeping: newHeldAnswers()},
		hostNamespaces: hostNamespaces, requests: make(chan startRequest, 1), started: make(chan error, 1),
	}
	s.umask, s.testHooks, s.mounts = l.Umask, l.TestHooks, -1
	path := l.SupervisorPath
	if path == "" {
		path = kernel.SelfPath
	}
	go s.run(path)
	// The goroutine gets this thread now; the caller continues on another one.
	runtime.Gosched()
	return s
}

// run owns the supervisor process from start to end. It stays on one thread, because the kernel
// sends the parent-death signal when the thread that forked ends.
//
// If a jail with namespaces cannot be built in batches of calls, run builds it again stepwise.
// Stepwise it can do without a call that an older kernel lacks, and a failure names its step.
func (p *starter) run(path string) {
	process := p.process
	defer func() {
		process.markDone()
		unix.Close(p.mounts)
	}()
	runtime.LockOSThread()
	stepwise := p.testHooks.Steps != nil && !p.testHooks.Batched
	err := p.runOnce(path, stepwise)
	// The second supervisor process is alone when its cgroup is made.
	if err == errNotInCgroup {
		err = p.runOnce(path, stepwise)
	}
	if stub.IsBatchError(err) {
		err = p.runOnce(path, true)
	}
	var refused beforeExecError
	switch {
	case errors.As(err, &refused):
		p.started <- refused.error
	case err != nil:
		p.started <- jail.WrapStep("init", err)
	}
}

// errNotInCgroup ends a supervisor process whose children are not in the jail's cgroup. A
// service manager moves only the processes that exist when it makes a scope, so the supervisor
// process must be alone then.
var errNotInCgroup = errors.New("the jail's processes are in no cgroup of their own")

// runOnce starts one supervisor process, builds and runs the jail, and waits for its end.
func (p *starter) runOnce(path string, stepwise bool) error {
	process := p.process
	events, err := p.fork(path)
	if err != nil {
		return err
	}
	// The last process that holds the mount namespace waits for all processors when it releases
	// the mounts. With this descriptor the launcher is that process. Otherwise it would be the
	// supervisor process, for whose end the launcher waits.
	unix.Close(p.mounts)
	p.mounts, _ = unix.Open("/proc/"+strconv.Itoa(process.pid)+"/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	life := p.runNamespaced
	if p.hostNamespaces {
		life = p.runHostNS
	} else if stepwise {
		p.stub.SetStepwise()
	}
	used, err := life(events)
	if !used || err != nil || p.stub != nil {
		p.killJail()
	}
	var ws syscall.WaitStatus
	for {
		if _, werr := syscall.Wait4(process.pid, &ws, 0, nil); werr != syscall.EINTR {
			break
		}
	}
	p.leaveCgroup()
	if err != errNotInCgroup && (stepwise || !stub.IsBatchError(err)) { // else there is another supervisor process, for which nothing was opened yet
		process.network.Close(process.interceptor)
	}
	p.freeStub()
	process.mu.Lock()
	defer process.mu.Unlock()
	process.hostNS.cleanUp()
	unix.Close(process.pidfd)
	process.pidfd = -1
	process.control.Close()
	if !process.exited {
		// Neither the init nor the supervisor reported an exit: the kernel killed the program.
		process.exit = Exit{Code: 128 + int(unix.SIGKILL), Signal: unix.SIGKILL}
	}
	return err
}

func (p *starter) killJail() {
	process := p.process
	process.mu.Lock()
	defer process.mu.Unlock()
	if process.hostNS.used && p.hostNamespaces {
		process.hostNS.end(process)
		return
	}
	unix.PidfdSendSignal(process.pidfd, unix.SIGKILL, nil, 0)
}

// sendRequest sends the spec and, with its first byte, the server's descriptors. A nil file is
// /dev/null, which the supervisor has already. A supervisor that ends early breaks the socket;
// that is no error here, since the supervisor reports the reason on its pipe.
func sendRequest(socket *os.File, stdio jail.Stdio, kept, encoded []byte) error {
	present, rights := stdio.Message()
	err := unix.Sendmsg(int(socket.Fd()), present, rights, nil, unix.MSG_NOSIGNAL)
	runtime.KeepAlive(stdio)
	if err == nil {
		err = unix.Sendmsg(int(socket.Fd()), binary.BigEndian.AppendUint32(nil, uint32(len(encoded))), kept, nil, unix.MSG_NOSIGNAL)
	}
	if err == nil {
		_, err = socket.Write(encoded)
	}
	if err == nil || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		return nil
	}
	return &sys.Error{Step: sys.Spec, Errno: sys.Errno(err)}
}

// keptRights returns the control message that passes the files of Launcher.Kept with the length
// of the spec, or nil.
func (r *startRequest) keptRights() []byte {
	if !r.spec.Keep.On {
		return nil
	}
	return unix.UnixRights(int(r.kept.Journal.Fd()), int(r.kept.Data.Fd()))
}

// awaitRequest waits for the request of a start. It returns false if the jail was cancelled. If
// the jail is built again, it returns the same request.
func (p *starter) awaitRequest() (*startRequest, bool) {
	if p.pending == nil {
		todo, used := <-p.requests
		if !used {
			return nil, false
		}
		p.pending = &todo
	}
	return p.pending, true
}

// awaitServer waits for the request that starts the server in a jail that was built ahead. It returns false if
// the jail was cancelled.
func (p *starter) awaitServer() (*startRequest, bool) {
	todo, used := <-p.requests
	if !used {
		return nil, false
	}
	todo.plan, todo.spec = p.process.plan, p.pending.spec
	p.pending = &todo // if the jail is built again, then not ahead
	return p.pending, true
}

// runHostNS sends the spec to a supervisor in the host's namespaces and handles its events
// until it ends.
func (p *starter) runHostNS(events *os.File) (used bool, err error) {
	process := p.process
	defer events.Close()
	todo, used := p.awaitRequest()
	if !used {
		return false, nil
	}
	if err := p.limitCgroup(process.plan); err != nil {
		return true, err
	}
	process.inCgroup = p.cgroup != nil // before the first event of the jail
	defer p.watchCgroup()()
	if err := todo.allowExec(); err != nil {
		return true, err
	}
	if err := sendRequest(process.control, todo.stdio, todo.keptRights(), todo.spec.Encode()); err != nil {
		return true, err
	}
	if err := process.openNetwork(func() { process.control.Write([]byte{1}) }); err != nil {
		return true, err
	}
	if err = process.listen(events, p.started); err == nil {
		process.recordFailure(supervisorDied)
	}
	return true, err
}

func (p *starter) freeStub() {
	if p.stub == nil {
		return
	}
	<-p.gone
	p.stub.Free()
	p.stub = nil
}

func (p *starter) watchExit(pidfd int) {
	defer close(p.gone)
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
	sys.WaitReadable(pidfd, -1) // returns at once if the runtime's poller has waited
	p.stub.MarkExited()
}

// probeHomeCopy reports whether the copy of HOME that a server gets can be made. It returns nil if it gets none.
func (l Launcher) probeHomeCopy(p *policy.Profile) *kernel.Feature {
	return refusedHomeCopy(p, l.probeOverlay)
}

// probeOverlay has a stub mount the overlay. For a directory that does not exist yet the answer is Unknown.
func (l Launcher) probeOverlay(dir string) kernel.Feature {
	if _, err := os.Lstat(dir); err != nil {
		return kernel.Feature{}
	}
	return askHomeCopy(dir, func() error {
		s := l.spawn(false)
		s.process.plan = &plan.Plan{Profile: &policy.Profile{}}
		sp := spec.Spec{Mounts: []spec.Mount{{Kind: spec.MountOverlay, Path: dir, IsDir: true}}}
		s.send(startRequest{plan: s.process.plan, spec: sp})
		err := <-s.started
		<-s.process.done
		return err
	})
}

// knownHomeCopy returns what is known of the copy of the private HOME that a server gets, or nil if it gets
// none. It asks nothing.
func knownHomeCopy(p *policy.Profile) *kernel.Feature {
	return refusedHomeCopy(p, func(dir string) kernel.Feature {
		return kernel.Cache.Get(copyKey(dir), func() kernel.Feature { return kernel.Feature{} })
	})
}

// refusedHomeCopy asks about the private HOME of which a server gets a copy. It returns nil if it gets none.
func refusedHomeCopy(p *policy.Profile, ask func(dir string) kernel.Feature) *kernel.Feature {
	home := plan.Ephemeral(p)
	if home == "" {
		return nil
	}
	answer := ask(home)
	return &answer
}

// isCopyRefused reports whether a start failed because the kernel refused the copy of HOME. It caches the answer.
func isCopyRefused(p *policy.Profile, err error) bool {
	var se *sys.Error
	if !errors.As(err, &se) || se.Step != sys.Overlays || se.Detail == "" || se.Detail != plan.Ephemeral(p) {
		return false
	}
	return kernel.Cache.Refresh(copyKey(se.Detail), func() kernel.Feature { return copyFeature(err) }).Answer == kernel.No
}

// askHomeCopy returns whether a copy of a directory can be made. If that is not known, make tries it.
func askHomeCopy(dir string, make func() error) kernel.Feature {
	return kernel.Cache.Get(copyKey(dir), func() kernel.Feature {
		if err := make(); err != nil {
			return copyFeature(err)
		}
		return kernel.Available("")
	})
}

// copyKey returns the key of the cached answer. There is one for each directory, because
// filesystems differ.
func copyKey(dir string) string { return "copies " + dir }

func copyFeature(err error) kernel.Feature {
	var se *sys.Error
	if !errors.As(err, &se) || se.Step != sys.Overlays {
		return kernel.Undetermined("no jail could be built to find out")
	}
	switch se.Errno {
	case syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EINTR, syscall.EIO:
		return kernel.Undetermined(se.Error())
	}
	return kernel.Unavailable("the kernel makes no overlay of "+se.Detail+": "+se.Errno.Error(), "use Linux 5.11 or newer with CONFIG_OVERLAY_FS, and a filesystem that it can lie on")
}
