package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"syscall"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/mediator"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// Steps returns the steps that build a jail in the host's namespaces, in their order. There
// the kernel kills only the server's first process when the supervisor dies. So the supervisor is
// the subreaper of the server's processes (a daemon becomes its child). When the launcher dies,
// the supervisor kills them all before it ends.
func (s *Process) Steps() []jail.Step {
	return []jail.Step{
		{Name: sys.StepPoller, Task: nil, Run: startPoller},
		{Name: sys.CoreDumps, Task: nil, Run: withTask(s.Server, jail.EmptyCoreDumps)},
		{Name: "parent", Task: nil, Run: s.adoptOrphans},
		{Name: "keyring", Task: nil, Run: withTask(s.Init, jail.FreshKeyring)},
		{Name: sys.Spec, Task: nil, Run: s.readSpec},
		{Name: sys.Network, Task: nil, Run: s.openBroker},
		{Name: "private directory", Task: nil, Run: s.makeTempDir},
		{Name: "limits", Task: nil, Run: s.ApplyLimits},
		{Name: "landlock rules", Task: nil, Run: s.OpenRuleset},
		{Name: "directory", Task: nil, Run: s.EnterDir},
		{Name: sys.Capabilities, Task: nil, Run: withTask(s.Server, dropCapabilities)},
		{Name: "limits", Task: nil, Run: s.LimitSignals}, // after dropCapabilities, which sends a signal to each thread
		{Name: "descriptors", Task: nil, Run: withTask(s.Server, hideDescriptors)},
		{Name: "parent", Task: nil, Run: s.adoptOrphans}, // the change of credentials may have reset the dumpable flag
		{Name: "no_new_privs", Task: nil, Run: withTask(s.Server, jail.SetNoNewPrivs)},
		{Name: "landlock", Task: nil, Run: s.landlock},
		{Name: "seccomp", Task: nil, Run: s.seccomp},
		{Name: "self-test", Task: nil, Run: s.SelfTest},
		{Name: sys.Network, Task: nil, Run: s.awaitGateway},
		{Name: "supervision", Task: nil, Run: s.handOver},
		{Name: sys.Network, Task: nil, Run: func() error { return checkSockets(s.Spec) }},
		{Name: "supervision", Task: nil, Run: s.CheckTracing},
		{Name: "signals", Task: nil, Run: s.checkScope},
		{Name: "parent", Task: nil, Run: s.launcherLives},
	}
}

func withTask(t *stub.Task, run func(*stub.Task) error) func() error {
	return func() error { return run(t) }
}

// adoptOrphans makes this process a subreaper, keeps other processes from tracing it, and checks
// that the launcher lives.
func (s *Process) adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return sys.On("subreaper", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	return s.launcherLives()
}

func (s *Process) makeTempDir() error {
	if err := unix.Mkdir(s.Spec.TempDir, 0o700); err != nil {
		return sys.On(s.Spec.TempDir, err)
	}
	s.tempDir = s.Spec.TempDir
	for _, f := range s.Spec.Files {
		if err := os.WriteFile(f.Path, []byte(f.Content), 0o400); err != nil {
			return sys.On(f.Path, err)
		}
	}
	if s.Spec.Home == "" {
		return nil
	}
	if err := unix.Mkdir(s.Spec.Home, 0o700); err != nil {
		return sys.On(s.Spec.Home, err)
	}
	for _, l := range s.Spec.Links {
		err := os.MkdirAll(path.Dir(l.Path), 0o700)
		if err == nil {
			err = unix.Symlink(l.Target, l.Path)
		}
		if err != nil {
			return sys.On(l.Path, err)
		}
	}
	return nil
}

// dropCapabilities empties the capability sets of all threads. Without CAP_SETPCAP it keeps
// the bounding set, which has no effect: under no_new_privs an exec adds no capability
// (capabilities(7)).
func dropCapabilities(t *stub.Task) error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := stub.Capget(t, &hdr, &caps); err != nil {
		return sys.On("capget", err)
	}
	give := jail.ClearAmbient
	if caps[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		// The capabilities here are the host's. The mediator needs none: it reads the memory
		// of its own descendants, which have the same user.
		give = jail.DropAllCapabilities
	}
	if err := canSignalThreads(); err != nil {
		return err
	}
	if err := give(t); err != nil {
		return err
	}
	var none [2]unix.CapUserData
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&hdr)), uintptr(unsafe.Pointer(&none[0])), 0)
	switch {
	case errno == unix.ENOTSUP && UnderRace:
		return jail.ClearCapabilities(t)
	case errno == unix.ENOTSUP:
		return errCgo
	case errno != 0:
		return sys.On("capset", errno)
	}
	return nil
}

// canSignalThreads returns an error if RLIMIT_SIGPENDING is too low for
// syscall.AllThreadsSyscall. Go sends each thread a real-time signal, and would wait forever
// for one that the kernel cannot queue (tgkill(2), EAGAIN).
func canSignalThreads() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_SIGPENDING, &limit); err != nil {
		return sys.On("getrlimit", err)
	}
	if limit.Cur < 2*spec.SupervisorThreads {
		return fmt.Errorf("RLIMIT_SIGPENDING is %d, too low to signal each thread of mcp-jail: raise it (ulimit -i)", limit.Cur)
	}
	return nil
}

// errCgo is the error of a program that was built with cgo. There Go can change the
// credentials of the calling thread only, and the other threads would keep their capabilities.
var errCgo = errors.New("this program was built with cgo, so it cannot drop the capabilities of all threads of a jail's supervisor: build it with CGO_ENABLED=0")

func hideDescriptors(t *stub.Task) error {
	return stub.CloseRange(t, 3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}

func (s *Process) seccomp() error {
	<-s.threadsReady // under the filter this process starts no thread
	_, err := seccomp.Install(s.Server, s.Spec.Seccomp, unix.SECCOMP_FILTER_FLAG_TSYNC)
	return err
}

// landlock starts the mediator, if the spec has one, and restricts this thread. The mediator's
// threads stay outside the domain.
func (s *Process) landlock() error {
	if len(s.Spec.ListenerFilter) > 0 {
		s.mediator = mediator.New(s.mediatorOptions())
	}
	return stub.LandlockRestrictSelf(s.Server, s.Ruleset)
}

// handOver installs the filter with the mediated calls on this thread only, which starts the
// server. It runs after the self-test, whose calls are not mediated. The filter itself refuses
// only the calls that would bypass the mediator. The server's umask is set before, because umask(2)
// is a mediated call.
func (s *Process) handOver() error {
	unix.Umask(s.Umask)
	if len(s.Spec.ListenerFilter) == 0 {
		return nil
	}
	s.openNull() // from here on an open of this thread would be mediated
	fd, err := seccomp.Install(s.Server, s.Spec.ListenerFilter, jail.ListenerFlags)
	if err != nil {
		return err
	}
	s.mediator.Serve(seccomp.Listener(fd))
	return nil
}

// checkScope checks, on the thread that will start the server, that Landlock refuses signals
// to processes outside its domain. It tries the launcher, which has the same user, so no
// other check would refuse.
func (s *Process) checkScope() error {
	if s.Spec.Landlock.Scoped&ll.ScopeSignal == 0 {
		return nil
	}
	if err := unix.Kill(s.Spec.HostPID, 0); !errors.Is(err, unix.EPERM) {
		return sys.On("signal the launcher", sys.ErrNotEnforced)
	}
	return s.guardScoped(unix.Gettid())
}

// guardScoped installs a filter that refuses signals to this thread. The thread is in the
// server's Landlock domain, so Landlock allows such signals, and a fatal signal to a thread ends
// its process.
func (s *Process) guardScoped(tid int) error {
	arch, _ := seccomp.ArchOf(runtime.GOARCH)
	filter, err := seccomp.CompileSignalGuard(arch, uint32(tid))
	if err != nil {
		return err
	}
	if _, err := seccomp.Install(s.Server, seccomp.Records(filter), 0); err != nil {
		return err
	}
	if err := unix.Tgkill(os.Getpid(), tid, 0); !errors.Is(err, unix.EPERM) {
		return sys.On("signal the supervisor", sys.ErrNotEnforced)
	}
	s.scopedThread = tid
	return nil
}

// signal sends a signal to the server's process by its pidfd: after the end of that process
// another one may have its ID.
func (s *Process) signal(sig syscall.Signal) { unix.PidfdSendSignal(s.pidfd, sig, nil, 0) }

// killAll ends the jail. The caller is not the thread that reaps.
func (s *Process) killAll() {
	if s.HostNS && s.pidfd >= 0 {
		s.signal(syscall.SIGKILL)
		select {} // reap sees the exit and kills the others
	}
	unix.Exit(1)
}

// killHostNS kills and reaps the server's processes until this process has no child, and
// removes the private directory. It is for the host's namespaces: a jail with namespaces ends
// with this process.
func (s *Process) killHostNS() {
	for {
		if s.scopedThread != 0 && s.scopedThread == unix.Gettid() {
			// This thread may signal the processes of its Landlock domain only. The kernel
			// signals them in one pass, so no fork escapes (kill(2)).
			unix.Kill(-1, unix.SIGKILL)
		}
		sys.OnUnrestrictedThread(func() {
			for _, pid := range sys.Children(os.Getpid()) {
				unix.Kill(pid, unix.SIGKILL) // not yet reaped, so the ID is still its own
			}
		})
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(-1, &ws, 0, nil); err != nil && err != syscall.EINTR {
			break
		}
	}
	sys.OnUnrestrictedThread(func() { jail.RemoveTree(s.tempDir) })
}

// openBroker makes the socket by which the mediator asks the launcher which addresses the
// server may reach, and hands the other end to the launcher.
func (s *Process) openBroker() error {
	if !s.Spec.Network.Brokered {
		return nil
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.broker = pair[0]
	theirs := jail.NetworkSockets{Task: s.Init, Fds: pair[1:], Kinds: []byte{spec.SocketBroker}}
	defer theirs.Close()
	return sys.On("hand over", theirs.Pass(spec.SpecFD))
}

// checkSockets makes a TCP socket as the server will, and checks that the mediator made it: it
// is bound to lo and cannot listen.
func checkSockets(sp *spec.Spec) error {
	if !sp.Network.Brokered {
		return nil
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return sys.On("make a TCP socket", err)
	}
	defer unix.Close(fd)
	if index, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, sys.SoBindToIfindex); err != nil || index != sys.LoopbackIndex {
		return sys.On("make a TCP socket that is not bound to lo", sys.ErrNotEnforced)
	}
	if _, err := unix.Getsockname(fd); err != nil {
		return sys.On("name a TCP socket", err) // which the mediator lets pass, if it may see which socket that is
	}
	if err := unix.Listen(fd, 1); !errors.Is(err, unix.EACCES) {
		return sys.On("listen", sys.ErrNotEnforced)
	}
	return nil
}
