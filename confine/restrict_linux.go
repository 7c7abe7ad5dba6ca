package confine

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Everything here runs on the one thread that will start the server. What a
// thread gives up it cannot get back, and its children never had.

// freshKeyring leaves the user's session keyring, which a process otherwise
// shares with whoever started it (session-keyring(7)).
func freshKeyring() error {
	_, _, errno := unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0)
	if errno != 0 && errno != unix.ENOSYS {
		return on("join a session keyring", errno)
	}
	return nil
}

// initThreads is what the shim's own threads take of RLIMIT_NPROC: see spareThreads.
const initThreads = 19

func (s *shim) limits() error {
	l := s.order.Limits
	if s.bare && l.Processes > 0 {
		// The kernel counts all of the user's (setrlimit(2)).
		l.Processes += tasksOfUser(os.Getuid())
	}
	for _, r := range []struct {
		name     string
		resource int
		value    int
	}{
		// 1 byte, not 0: that also keeps the kernel from piping the memory into a
		// program of the host (fs/coredump.c; core(5) says that 0 does not).
		{"core", unix.RLIMIT_CORE, 1},
		{"file_size_mb", unix.RLIMIT_FSIZE, l.FileSizeMB << 20},
		{"open_files", unix.RLIMIT_NOFILE, l.OpenFiles},
		{"processes", unix.RLIMIT_NPROC, l.Processes + initThreads},
	} {
		if r.value <= 0 || r.resource == unix.RLIMIT_NPROC && l.Processes <= 0 {
			continue
		}
		var old syscall.Rlimit
		if err := syscall.Getrlimit(r.resource, &old); err != nil {
			return on(r.name, err)
		}
		limit := min(uint64(r.value), old.Max)
		// The package syscall remembers the limit of open files for its children,
		// unless it is set through it.
		if err := syscall.Setrlimit(r.resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return on(r.name, err)
		}
	}
	return nil
}

func (s *shim) enterDir() error { return on(s.order.Dir, os.Chdir(s.order.Dir)) }

// securebits(7): root is nobody special, and nothing of it can be undone.
const lockedSecurebits = 1<<0 | 1<<1 | // NOROOT
	1<<2 | 1<<3 | // NO_SETUID_FIXUP
	1<<5 | // KEEP_CAPS locked off
	1<<6 | 1<<7 // NO_CAP_AMBIENT_RAISE

// dropCapabilities empties all five sets of this thread, and the effective and
// permitted ones of the shim's other threads, but for what a supervisor needs to
// read the arguments of the jail's processes.
func (s *shim) dropCapabilities() error {
	s.apart.end() // a thread with fewer capabilities than others may not move them
	if len(s.order.Hooks) > 0 {
		return giveUp(1 << unix.CAP_SYS_PTRACE)
	}
	return giveUp(0)
}

func giveUp(kept uint32) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return on("ambient", err)
	}
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && c > unix.CAP_SETPCAP {
			break // one past the last that this kernel knows
		}
		if err != nil {
			return on("bounding set", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, lockedSecurebits, 0, 0, 0); err != nil {
		return on("securebits", err)
	}
	return emptyCapabilities(kept)
}

// emptyCapabilities empties the sets that a thread holds, on this thread; on all
// others it leaves what is named.
func emptyCapabilities(kept uint32) error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none, others [2]unix.CapUserData
	others[0].Effective, others[0].Permitted = kept, kept
	if err := canSignalThreads(); err != nil {
		return err
	}
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&hdr)), uintptr(unsafe.Pointer(&others[0])), 0)
	switch {
	case errno == unix.ENOTSUP && underRace:
	case errno == unix.ENOTSUP:
		return errCgo
	case errno != 0:
		return on("capset", errno)
	}
	return on("capset", unix.Capset(&hdr, &none[0]))
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
func hideDescriptors() error {
	return unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}

// openRuleset makes the Landlock rulesets while the rights to open their paths are
// still there; landlock puts the server's in force.
func (s *shim) openRuleset() (err error) {
	if s.ruleset, err = s.openRules(&s.order.Landlock); err != nil {
		return err
	}
	s.root.closeTrees()
	s.making = s.ruleset
	if len(s.order.Making.Rules) > 0 {
		s.making, err = s.openRules(&s.order.Making)
	}
	return err
}

func (s *shim) openRules(rules *landlockRules) (int, error) {
	ruleset, err := createRuleset(rules, func(r landlockRule) (int, error) {
		if tree, ok := s.root.takeTree(r.Path); ok {
			return tree, nil // the very object that is there
		}
		fd, err := openObject(unix.AT_FDCWD, r.Path)
		if err != nil || r.ID == (policy.FileID{}) {
			return fd, err
		}
		if id, err := objectID(fd); err != nil || id != r.ID {
			unix.Close(fd)
			return -1, errSwapped
		}
		return fd, nil
	})
	var re *ruleError
	if errors.As(err, &re) {
		return -1, on(re.Rule.Path, re.Err)
	}
	return ruleset, err
}

func (s *shim) landlock() error {
	if len(s.order.Hooks) > 0 {
		s.supervisor = newSupervisor(s)
	}
	return restrictThread(s.ruleset)
}

// seccomp puts the filter on every thread of the shim.
func (s *shim) seccomp() error {
	s.await(&s.spare) // from here on the init starts no thread
	_, err := applySeccomp(s.order.Seccomp, unix.SECCOMP_FILTER_FLAG_TSYNC)
	return err
}

// handOver puts the filter that hands calls over on this thread alone, from which the
// server comes. It comes after the self-test, whose calls would otherwise wait for the
// supervisor. By itself it refuses little: what would let a program around the supervisor.
func (s *shim) handOver() error {
	if len(s.order.Hooks) == 0 {
		return nil
	}
	s.openNull() // what this thread opens from here on takes the way through the supervisor
	fd, err := applySeccomp(s.order.Hooks, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if err != nil {
		return err
	}
	s.supervisor.listener = listener(fd)
	s.supervisor.open.close(nil)
	return nil
}

func noNewPrivileges() error {
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

// selfTest tries, as the server would, what must fail. It is the last thing
// before the server starts: a jail that does not hold is not used.
func (s *shim) selfTest() error {
	for _, p := range s.probes() {
		if err := p.try(); err == nil {
			return on(p.what, errHeldNot)
		}
	}
	return s.checkState()
}

var errHeldNot = errors.New("it succeeded and must not: the jail does not hold")

type probe struct {
	what string
	try  func() error
}

func (s *shim) probes() []probe {
	probes := []probe{
		{"mount", func() error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") }},
		{"make a user namespace", func() error { return gotThrough(unix.Unshare(unix.CLONE_NEWUSER), unix.EINVAL) }},
		{"open a packet socket", func() error { return socketProbe(unix.AF_PACKET, unix.SOCK_RAW) }},
		{"trace a process", func() error { return gotThrough(unix.PtraceAttach(0), unix.ESRCH) }},
		{"open the terminal", terminalProbe},
	}
	if s.bare {
		probes = append(probes, s.bareProbes()...)
	} else {
		probes = append(probes, probe{"see the launcher's process", func() error {
			if unix.Tgkill(os.Getpid(), s.order.HostPID, 0) == nil {
				return unix.ESRCH // a small number, as in a container: here it is that of a thread of our own
			}
			return unix.Kill(s.order.HostPID, 0)
		}})
	}
	if !s.order.hostRoot() { // nothing may come into being there
		probes = append(probes, probe{"write into the root", func() error {
			const name = "/.mcp-jail-probe"
			err := unix.Mkdir(name, 0o700)
			if err == nil {
				unix.Rmdir(name) // without namespaces it is the host's
			}
			return err
		}})
	}
	switch {
	case s.order.Gate.Open:
		probes = append(probes, probe{"find a way out of the network namespace", awayProbe})
	case !s.bare:
		probes = append(probes, probe{"find a way out of the network namespace", routeProbe})
	}
	for _, dir := range s.order.MustFail {
		probes = append(probes, probe{"list " + dir, func() error { return openProbe(dir) }})
	}
	return probes
}

// gotThrough judges a call that the kernel always refuses here: to a process with threads
// a user namespace, and to trace nobody. Who hears that from it has got past the filter,
// and a server that is written for it gets further.
func gotThrough(err error, kernels syscall.Errno) error {
	if errors.Is(err, kernels) {
		return nil
	}
	return err
}

func openProbe(dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func socketProbe(family, kind int) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// routeProbe asks for a route to an address that is nobody's (RFC 5737).
// Connecting a datagram socket sends nothing.
func routeProbe() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrInet4{Port: 9, Addr: [4]byte{198, 51, 100, 1}})
}

// checkState reads back what the restricting calls set.
func (s *shim) checkState() error {
	if v, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || v != 1 {
		return on("no_new_privs", errHeldNot)
	}
	if v, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil || v != 2 {
		return on("seccomp", errHeldNot)
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&hdr, &caps[0]); err != nil || caps != [2]unix.CapUserData{} {
		return on("capabilities", errHeldNot)
	}
	return nil
}

// checkMounts looks every carve-out up once more by its name: a name that was
// moved while the jail was being built leads to something without the mount. It
// comes before the filter, which does not let openat2 pass.
func (s *shim) checkMounts() error {
	for _, op := range s.order.Mounts {
		if !op.inside || (op.kind == mountBind || op.kind == mountPin) && !op.ro && !op.noexec {
			continue
		}
		fd, err := openLast(unix.AT_FDCWD, op.path)
		if err != nil {
			if op.kind == mountMask && (errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT)) {
				continue // below a mask of its own parent, or gone: nothing is there to be read
			}
			return on(op.path, err)
		}
		id, err := objectID(fd)
		var fs unix.Statfs_t
		if err == nil {
			err = unix.Fstatfs(fd, &fs)
		}
		unix.Close(fd)
		switch {
		case err != nil:
			return on(op.path, err)
		case op.kind != mountBind && op.kind != mountPin && id == op.id,
			op.ro && fs.Flags&unix.ST_RDONLY == 0,
			op.noexec && fs.Flags&unix.ST_NOEXEC == 0:
			return on(op.path, errSwapped)
		}
	}
	return nil
}
