package confine

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// A jail without namespaces: its init is an ordinary process, whose death ends
// nobody. It is the subreaper of all that the server starts, so that whoever
// detaches himself becomes its child, and it outlives its launcher for as long as
// it takes to end them.

// bareSteps are the steps of such a jail.
func (s *shim) bareSteps() []shimStep {
	return []shimStep{
		{"parent", s.adoptOrphans},
		{"keyring", bareKeyring},
		{"order", s.readOrder},
		{stepNetwork, s.openAsks},
		{"private directory", s.makeTmp},
		{"limits", s.limits},
		{"landlock rules", s.openRuleset},
		{"directory", s.enterDir},
		{"capabilities", dropHeldCapabilities},
		{"descriptors", hideDescriptors},
		{"parent", s.adoptOrphans}, // changing credentials has undone a part of it
		{"no_new_privs", noNewPrivileges},
		{"landlock", s.landlock},
		{"seccomp", s.seccomp},
		{"self-test", s.selfTest},
		{stepNetwork, s.awaitGate},
		{"supervision", s.handOver},
		{stepNetwork, s.checkSockets},
		{"signals", s.checkScope},
		{"parent", s.launcherLives},
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

// bareKeyring is freshKeyring where a container's filter may already refuse what
// the server's will: nobody in the jail can use a keyring then.
func bareKeyring() error {
	if err := freshKeyring(); !errors.Is(err, unix.EPERM) {
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

// dropHeldCapabilities is dropCapabilities for a process that may have none, and
// so may not drop the bounding set either. It does not matter then: under
// no_new_privs nothing that it executes gains what it does not hold
// (capabilities(7)).
func dropHeldCapabilities() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&hdr, &caps[0]); err != nil {
		return on("capget", err)
	}
	if caps[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		// Here they are the host's: the supervisor does with its user's right to trace
		// its own children.
		return giveUp(0)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return on("ambient", err)
	}
	return emptyCapabilities(0)
}

// checkScope finds out, on the thread that will start the server, whether Landlock
// keeps it from signalling whom it does not know: the launcher has the same user,
// so that nothing else would.
func (s *shim) checkScope() error {
	if s.order.Landlock.Scoped&llScopeSignal == 0 {
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
	if _, err := applySeccomp(filterRecords(filter), 0); err != nil {
		return err
	}
	if err := unix.Tgkill(os.Getpid(), tid, 0); !errors.Is(err, unix.EPERM) {
		return on("signal the init", errHeldNot)
	}
	s.scoped = tid
	return nil
}

// bareProbes are what must fail here, besides what must fail in every jail.
func (s *shim) bareProbes() []probe {
	probes := []probe{
		{"make shared memory", func() error {
			id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 1, unix.IPC_CREAT|0o600)
			if err == nil {
				unix.SysvShmCtl(id, unix.IPC_RMID, nil)
			}
			return err
		}},
	}
	if s.order.Landlock.FS&llResolveUnix == 0 {
		probes = append(probes, probe{"make a UNIX socket", func() error { return socketProbe(unix.AF_UNIX, unix.SOCK_STREAM) }})
	}
	switch {
	case s.order.Gate.Asked && s.order.Landlock.Net&llConnectTCP != 0:
		probes = append(probes, probe{"connect a TCP socket by itself", connectProbe})
	case !s.order.Gate.Asked && !s.order.HostNames:
		probes = append(probes,
			probe{"make a TCP socket", func() error { return socketProbe(unix.AF_INET, unix.SOCK_STREAM) }},
			probe{"make a UDP socket", func() error { return socketProbe(unix.AF_INET6, unix.SOCK_DGRAM) }})
	}
	return probes
}

// signal signals the program, which may have ended meanwhile and its number have
// become somebody else's.
func (s *shim) signal(program int, sig syscall.Signal) {
	if s.bare {
		unix.PidfdSendSignal(s.pidfd, sig, nil, 0)
		return
	}
	syscall.Kill(program, sig) // in a PID namespace everybody is the jail's
}

// end ends the jail, from another thread than the one that reaps.
func (s *shim) end() {
	if s.bare && s.pidfd >= 0 {
		s.signal(0, syscall.SIGKILL)
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

// removeTree removes a directory that its user may have shut in places; "" is none.
func removeTree(dir string) {
	for dir != "" { // each time one more is opened up
		err := os.RemoveAll(dir)
		var pe *os.PathError
		if err == nil || !errors.As(err, &pe) {
			return
		}
		shut := false
		for _, p := range []string{pe.Path, parentDir(pe.Path)} {
			// No link is followed, and only what is ours can be opened up.
			if fi, err := os.Lstat(p); err == nil && fi.IsDir() && fi.Mode().Perm()&0o700 != 0o700 && policy.Within(p, dir) {
				shut = os.Chmod(p, 0o700) == nil || shut
			}
		}
		if !shut {
			return
		}
	}
}

func parentDir(p string) string {
	if i := strings.LastIndexByte(p, '/'); i > 0 {
		return p[:i]
	}
	return "/"
}

// parents maps every process that can be seen to the one that it is a child of.
func parents() (map[int]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	of := make(map[int]int, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // gone
		}
		// pid (name) state ppid: a name may hold anything, so from its last bracket.
		if f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])); len(f) > 1 {
			of[pid], _ = strconv.Atoi(f[1])
		}
	}
	return of, nil
}

func childrenOf(parent int) (pids []int) {
	of, _ := parents()
	for pid, p := range of {
		if p == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// descendants are the numbers of all processes below this one.
func descendants() ([]string, error) {
	of, err := parents()
	if err != nil {
		return nil, err
	}
	var pids []string
	self := os.Getpid()
	for pid := range of {
		for up := of[pid]; up > 1; up = of[up] {
			if up == self {
				pids = append(pids, strconv.Itoa(pid))
				break
			}
		}
	}
	return pids, nil
}

// tasksOfUser counts the threads that the kernel counts for RLIMIT_NPROC.
func tasksOfUser(uid int) (n int) {
	of, _ := parents()
	for pid := range of {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			continue
		}
		mine, threads := false, 0
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			switch {
			case len(f) < 2:
			case f[0] == "Uid:":
				mine = f[1] == strconv.Itoa(uid)
			case f[0] == "Threads:":
				threads, _ = strconv.Atoi(f[1])
			}
		}
		if mine {
			n += threads
		}
	}
	return n
}
