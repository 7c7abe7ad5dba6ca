package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// A jail without namespaces: its init is an ordinary process, whose death ends
// nobody. It is the subreaper of all that the server starts, so that whoever
// detaches himself becomes its child, and it outlives its launcher for as long as
// it takes to end them.

// steps are those of such a jail.
func (s *shim) steps() []buildStep {
	return []buildStep{
		{stepPoller, nil, CanPoll},
		{stepDumps, nil, s.emptyDumps},
		{"parent", nil, s.adoptOrphans},
		{"keyring", nil, s.leaveKeyring},
		{"order", nil, s.readOrder},
		{stepNetwork, nil, s.openAsks},
		{"private directory", nil, s.makeTmp},
		{"limits", nil, s.limits},
		{"landlock rules", nil, s.openRuleset},
		{"directory", nil, s.enterDir},
		{stepCapabilities, nil, s.dropCapabilities},
		{"limits", nil, s.limitSignals}, // of which that takes one for each thread
		{"descriptors", nil, s.hideDescriptors},
		{"parent", nil, s.adoptOrphans}, // changing credentials has undone a part of it
		{"no_new_privs", nil, func() error { return noNewPrivileges(s.server) }},
		{"landlock", nil, s.landlock},
		{"seccomp", nil, s.seccomp},
		{"self-test", nil, s.selfTest},
		{stepNetwork, nil, s.awaitGate},
		{"supervision", nil, s.handOver},
		{stepNetwork, nil, s.checkSockets},
		{"signals", nil, s.checkScope},
		{"parent", nil, s.launcherLives},
	}
}

func (s *shim) adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return on("subreaper", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	return s.launcherLives()
}

// emptyDumps does without where there is no /proc, which the plan says.
func (s *shim) emptyDumps() error { return emptyDumps(s.server) }

// leaveKeyring is freshKeyring where a container's filter may already refuse what
// the server's will: nobody in the jail can use a keyring then.
func (s *shim) leaveKeyring() error {
	if err := freshKeyring(s.init); !errors.Is(err, unix.EPERM) {
		return err
	}
	return nil
}

// makeTmp makes the directory that TMPDIR names, for the user alone.
func (s *shim) makeTmp() error {
	if err := unix.Mkdir(s.order.Tmp, 0o700); err != nil {
		return on(s.order.Tmp, err)
	}
	s.tmp = s.order.Tmp
	for _, f := range s.order.Files {
		if err := os.WriteFile(f.Path, []byte(f.Content), 0o400); err != nil {
			return on(f.Path, err)
		}
	}
	if s.order.Home == "" {
		return nil
	}
	return on(s.order.Home, unix.Mkdir(s.order.Home, 0o700))
}

// dropCapabilities empties all sets of all threads. A process that has no capability may
// not drop the bounding set either. It does not matter then: under no_new_privs nothing
// that it executes gains what it does not hold (capabilities(7)).
func (s *shim) dropCapabilities() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := s.server.Capget(&hdr, &caps); err != nil {
		return on("capget", err)
	}
	give := clearAmbient
	if caps[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		// Here they are the host's: the supervisor does with its user's right to trace
		// its own children.
		give = giveUp
	}
	if err := canSignalThreads(); err != nil {
		return err
	}
	if err := give(s.server); err != nil {
		return err
	}
	var none [2]unix.CapUserData
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&hdr)), uintptr(unsafe.Pointer(&none[0])), 0)
	switch {
	case errno == unix.ENOTSUP && underRace:
		return dropHeld(s.server)
	case errno == unix.ENOTSUP:
		return errCgo
	case errno != 0:
		return on("capset", errno)
	}
	return nil
}

// canSignalThreads: Go reaches its threads by real-time signals, and waits for ever for
// one that the kernel has no room to queue (tgkill(2), EAGAIN).
func canSignalThreads() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_SIGPENDING, &limit); err != nil {
		return on("getrlimit", err)
	}
	if limit.Cur < 2*initThreads {
		return fmt.Errorf("RLIMIT_SIGPENDING is %d, and each thread of the jail's init is told by a signal: raise it (ulimit -i)", limit.Cur)
	}
	return nil
}

// errCgo: where C may have threads of its own, Go reaches none but the calling one. The
// init's others would keep what the jail was built with.
var errCgo = errors.New("this program was built with cgo, and so cannot take the capabilities from all threads of a jail's init: build it with CGO_ENABLED=0")

// hideDescriptors keeps everything but the three standard ones from the server.
func (s *shim) hideDescriptors() error {
	return s.server.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}

// seccomp puts the filter on every thread of the shim.
func (s *shim) seccomp() error {
	<-s.spare // from here on the init starts no thread
	_, err := applySeccomp(s.server, s.order.Seccomp, unix.SECCOMP_FILTER_FLAG_TSYNC)
	return err
}

func (s *shim) landlock() error {
	if len(s.order.Hooks) > 0 {
		s.supervisor = newSupervisor(s.supervision())
	}
	return s.server.LandlockRestrictSelf(s.ruleset)
}

// handOver puts the filter that hands calls over on this thread alone, from which the
// server comes. It comes after the self-test, whose calls would otherwise wait for the
// supervisor. By itself it refuses little: what would let a program around the supervisor.
func (s *shim) handOver() error {
	if len(s.order.Hooks) == 0 {
		return nil
	}
	s.openNull() // what this thread opens from here on takes the way through the supervisor
	fd, err := applySeccomp(s.server, s.order.Hooks, handedOver)
	if err != nil {
		return err
	}
	s.supervisor.listener = listener(fd)
	close(s.supervisor.open)
	return nil
}

// checkScope finds out, on the thread that will start the server, whether Landlock
// keeps it from signalling whom it does not know: the launcher has the same user,
// so that nothing else would.
func (s *shim) checkScope() error {
	if s.order.Landlock.Scoped&ll.ScopeSignal == 0 {
		return nil
	}
	if err := unix.Kill(s.order.HostPID, 0); !errors.Is(err, unix.EPERM) {
		return on("signal the launcher", errHeldNot)
	}
	return s.guardScoped(unix.Gettid())
}

// guardScoped keeps the server's hands off the thread that Landlock lets it signal:
// what ends a thread ends its process.
func (s *shim) guardScoped(tid int) error {
	arch, _ := archOf(runtime.GOARCH)
	filter, err := compileSignalGuard(arch, uint32(tid))
	if err != nil {
		return err
	}
	if _, err := applySeccomp(s.server, filterRecords(filter), 0); err != nil {
		return err
	}
	if err := unix.Tgkill(os.Getpid(), tid, 0); !errors.Is(err, unix.EPERM) {
		return on("signal the init", errHeldNot)
	}
	s.scoped = tid
	return nil
}

// bareProbes are what must fail here, besides what must fail in every jail.
func (b *builder) bareProbes() []probe {
	probes := []probe{
		{what: "make shared memory", try: func() error {
			id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 1, unix.IPC_CREAT|0o600)
			if err == nil {
				unix.SysvShmCtl(id, unix.IPC_RMID, nil)
			}
			return err
		}},
	}
	if b.order.Landlock.FS&ll.AccessFSResolveUnix == 0 {
		probes = append(probes, probe{what: "make a UNIX socket", try: func() error { return socketProbe(b.server, unix.AF_UNIX, unix.SOCK_STREAM) }})
	}
	switch {
	case b.order.Gate.Asked && b.order.Landlock.Net&ll.AccessNetConnectTCP != 0:
		probes = append(probes, probe{what: "connect a TCP socket by itself", try: connectProbe})
	case !b.order.Gate.Asked && !b.order.HostNames:
		probes = append(probes,
			probe{what: "make a TCP socket", try: func() error { return socketProbe(b.server, unix.AF_INET, unix.SOCK_STREAM) }},
			probe{what: "make a UDP socket", try: func() error { return socketProbe(b.server, unix.AF_INET6, unix.SOCK_DGRAM) }})
	}
	return probes
}

// signal signals the program, which may have ended meanwhile and its number have
// become somebody else's.
func (s *shim) signal(sig syscall.Signal) { unix.PidfdSendSignal(s.pidfd, sig, nil, 0) }

// endAll ends the jail, from another thread than the one that reaps.
func (s *shim) endAll() {
	if s.bare && s.pidfd >= 0 {
		s.signal(syscall.SIGKILL)
		select {} // reap sees it, and ends the others
	}
	unix.Exit(1)
}

// fewFiles is how many processes are held by a descriptor at once.
const fewFiles = 16

// killMembers ends processes of the jail. Their numbers may have become somebody
// else's since they were looked up, which without a PID namespace is not the jail's.
func (s *shim) killMembers(members []member) {
	if !s.bare {
		for _, m := range members {
			if pid, err := strconv.Atoi(m.pid); err == nil {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		return
	}
	for some := range slices.Chunk(members, fewFiles) {
		killDescendants(some)
	}
}

func killDescendants(members []member) {
	held := map[string]int{}
	for _, m := range members {
		pid, _ := strconv.Atoi(m.pid)
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			held[m.pid] = fd
			defer unix.Close(fd)
		}
	}
	of, _ := descendants()
	for _, pid := range of {
		if fd, ok := held[pid]; ok {
			unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
	}
}

// endBare is the end of such a jail: everything that the server left is killed,
// until nothing is there to be reaped any more, and the private directory goes.
func (s *shim) endBare() {
	for {
		if s.scoped != 0 && s.scoped == unix.Gettid() {
			// Everybody whom this thread may signal: those of its Landlock domain. The
			// kernel does it in one go, and no fork gets away (kill(2)).
			unix.Kill(-1, unix.SIGKILL)
		}
		outside(func() {
			for _, pid := range childrenOf(os.Getpid()) {
				unix.Kill(pid, unix.SIGKILL) // not reaped yet, so it is the same
			}
		})
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(-1, &ws, 0, nil); err != nil && err != syscall.EINTR {
			break
		}
	}
	outside(func() { removeTree(s.tmp) })
}

// outside runs f on a thread that is not in the server's Landlock domain, which
// keeps it from looking into /proc.
func outside(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}
