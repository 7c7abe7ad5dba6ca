package supervisor

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/mediate"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"golang.org/x/sys/unix"
)

// A jail without namespaces: its init is an ordinary process, whose death ends
// nobody. It is the subreaper of all that the server starts, so that whoever
// detaches himself becomes its child, and it outlives its launcher for as long as
// it takes to end them.

// steps are those of such a jail.
func (s *Process) Steps() []jail.Step {
	return []jail.Step{
		{Name: sys.StepPoller, By: nil, Run: sys.CheckPoller},
		{Name: step.CoreDumps, By: nil, Run: s.emptyDumps},
		{Name: "parent", By: nil, Run: s.adoptOrphans},
		{Name: "keyring", By: nil, Run: s.leaveKeyring},
		{Name: "order", By: nil, Run: s.readSpec},
		{Name: step.Network, By: nil, Run: s.openBroker},
		{Name: "private directory", By: nil, Run: s.makeTempDir},
		{Name: "limits", By: nil, Run: s.Limits},
		{Name: "landlock rules", By: nil, Run: s.OpenRuleset},
		{Name: "directory", By: nil, Run: s.EnterDir},
		{Name: step.Capabilities, By: nil, Run: s.dropCapabilities},
		{Name: "limits", By: nil, Run: s.LimitSignals}, // of which that takes one for each thread
		{Name: "descriptors", By: nil, Run: s.hideDescriptors},
		{Name: "parent", By: nil, Run: s.adoptOrphans}, // changing credentials has undone a part of it
		{Name: "no_new_privs", By: nil, Run: func() error { return jail.SetNoNewPrivs(s.Server) }},
		{Name: "landlock", By: nil, Run: s.landlock},
		{Name: "seccomp", By: nil, Run: s.seccomp},
		{Name: "self-test", By: nil, Run: s.SelfTest},
		{Name: step.Network, By: nil, Run: s.awaitGate},
		{Name: "supervision", By: nil, Run: s.handOver},
		{Name: step.Network, By: nil, Run: s.checkSockets},
		{Name: "signals", By: nil, Run: s.checkScope},
		{Name: "parent", By: nil, Run: s.launcherLives},
	}
}

func (s *Process) adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return step.On("subreaper", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	return s.launcherLives()
}

// emptyDumps does without where there is no /proc, which the plan says.
func (s *Process) emptyDumps() error { return jail.EmptyCoreDumps(s.Server) }

// leaveKeyring is freshKeyring where a container's filter may already refuse what
// the server's will: nobody in the jail can use a keyring then.
func (s *Process) leaveKeyring() error {
	if err := jail.FreshKeyring(s.Init); !errors.Is(err, unix.EPERM) {
		return err
	}
	return nil
}

// makeTempDir makes the directory that TMPDIR names, for the user alone.
func (s *Process) makeTempDir() error {
	if err := unix.Mkdir(s.Spec.TempDir, 0o700); err != nil {
		return step.On(s.Spec.TempDir, err)
	}
	s.tempDir = s.Spec.TempDir
	for _, f := range s.Spec.Files {
		if err := os.WriteFile(f.Path, []byte(f.Content), 0o400); err != nil {
			return step.On(f.Path, err)
		}
	}
	if s.Spec.Home == "" {
		return nil
	}
	return step.On(s.Spec.Home, unix.Mkdir(s.Spec.Home, 0o700))
}

// dropCapabilities empties all sets of all threads. A process that has no capability may
// not drop the bounding set either. It does not matter then: under no_new_privs nothing
// that it executes gains what it does not hold (capabilities(7)).
func (s *Process) dropCapabilities() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := s.Server.Capget(&hdr, &caps); err != nil {
		return step.On("capget", err)
	}
	give := jail.ClearAmbient
	if caps[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		// Here they are the host's: the supervisor does with its user's right to trace
		// its own children.
		give = jail.DropAllCapabilities
	}
	if err := canSignalThreads(); err != nil {
		return err
	}
	if err := give(s.Server); err != nil {
		return err
	}
	var none [2]unix.CapUserData
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&hdr)), uintptr(unsafe.Pointer(&none[0])), 0)
	switch {
	case errno == unix.ENOTSUP && UnderRace:
		return jail.ClearCapabilities(s.Server)
	case errno == unix.ENOTSUP:
		return errCgo
	case errno != 0:
		return step.On("capset", errno)
	}
	return nil
}

// canSignalThreads: Go reaches its threads by real-time signals, and waits for ever for
// one that the kernel has no room to queue (tgkill(2), EAGAIN).
func canSignalThreads() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_SIGPENDING, &limit); err != nil {
		return step.On("getrlimit", err)
	}
	if limit.Cur < 2*spec.InitThreads {
		return fmt.Errorf("RLIMIT_SIGPENDING is %d, and each thread of the jail's init is told by a signal: raise it (ulimit -i)", limit.Cur)
	}
	return nil
}

// errCgo: where C may have threads of its own, Go reaches none but the calling one. The
// init's others would keep what the jail was built with.
var errCgo = errors.New("this program was built with cgo, and so cannot take the capabilities from all threads of a jail's init: build it with CGO_ENABLED=0")

// hideDescriptors keeps everything but the three standard ones from the server.
func (s *Process) hideDescriptors() error {
	return s.Server.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}

// seccomp puts the filter on every thread of the shim.
func (s *Process) seccomp() error {
	<-s.spare // from here on the init starts no thread
	_, err := seccomp.Install(s.Server, s.Spec.Seccomp, unix.SECCOMP_FILTER_FLAG_TSYNC)
	return err
}

func (s *Process) landlock() error {
	if len(s.Spec.Hooks) > 0 {
		s.mediator = mediate.New(s.mediatorOptions())
	}
	return s.Server.LandlockRestrictSelf(s.Ruleset)
}

// handOver puts the filter that hands calls over on this thread alone, from which the
// server comes. It comes after the self-test, whose calls would otherwise wait for the
// supervisor. By itself it refuses little: what would let a program around the supervisor.
func (s *Process) handOver() error {
	if len(s.Spec.Hooks) == 0 {
		return nil
	}
	s.openNull() // what this thread opens from here on takes the way through the supervisor
	fd, err := seccomp.Install(s.Server, s.Spec.Hooks, jail.ListenerFlags)
	if err != nil {
		return err
	}
	s.mediator.Listener = seccomp.Listener(fd)
	close(s.mediator.Open)
	return nil
}

// checkScope finds out, on the thread that will start the server, whether Landlock
// keeps it from signalling whom it does not know: the launcher has the same user,
// so that nothing else would.
func (s *Process) checkScope() error {
	if s.Spec.Landlock.Scoped&ll.ScopeSignal == 0 {
		return nil
	}
	if err := unix.Kill(s.Spec.HostPID, 0); !errors.Is(err, unix.EPERM) {
		return step.On("signal the launcher", step.ErrNotEnforced)
	}
	return s.guardScoped(unix.Gettid())
}

// guardScoped keeps the server's hands off the thread that Landlock lets it signal:
// what ends a thread ends its process.
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
		return step.On("signal the init", step.ErrNotEnforced)
	}
	s.scopedThread = tid
	return nil
}

// signal signals the program, which may have ended meanwhile and its number have
// become somebody else's.
func (s *Process) signal(sig syscall.Signal) { unix.PidfdSendSignal(s.pidfd, sig, nil, 0) }

// killAll ends the jail, from another thread than the one that reaps.
func (s *Process) killAll() {
	if s.HostNS && s.pidfd >= 0 {
		s.signal(syscall.SIGKILL)
		select {} // reap sees it, and ends the others
	}
	unix.Exit(1)
}

// killHostNS is the end of such a jail: everything that the server left is killed,
// until nothing is there to be reaped any more, and the private directory goes.
func (s *Process) killHostNS() {
	for {
		if s.scopedThread != 0 && s.scopedThread == unix.Gettid() {
			// Everybody whom this thread may signal: those of its Landlock domain. The
			// kernel does it in one go, and no fork gets away (kill(2)).
			unix.Kill(-1, unix.SIGKILL)
		}
		sys.OnUnrestrictedThread(func() {
			for _, pid := range proc.Children(os.Getpid()) {
				unix.Kill(pid, unix.SIGKILL) // not reaped yet, so it is the same
			}
		})
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(-1, &ws, 0, nil); err != nil && err != syscall.EINTR {
			break
		}
	}
	sys.OnUnrestrictedThread(func() { RemoveTree(s.tempDir) })
}
