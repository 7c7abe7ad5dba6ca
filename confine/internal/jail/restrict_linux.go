package jail

import (
	"errors"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy"
)

// This file has the steps of a Restrictor. Most restrict one thread, which cannot undo them and
// whose children inherit them. OpenRuleset prepares for them, and CheckMounts checks the mounts.

// FreshKeyring joins a new session keyring. Otherwise a process shares the session keyring of
// mcp-jail, with all keys of the user. It passes ENOSYS, and EPERM from the seccomp filter of a
// container: the server cannot use keyrings then either.
func FreshKeyring(t *stub.Task) error {
	outcome := t.Optional(func() error {
		_, err := t.Call(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0)
		return err
	})
	return t.OnComplete(func() error {
		if err := outcome(); err != nil && err != unix.ENOSYS && err != unix.EPERM {
			return sys.On("join a session keyring", err)
		}
		return nil
	})
}

// ApplyLimits sets the server's rlimits.
func (b *Restrictor) ApplyLimits() error {
	l := b.Spec.Limits
	own := spec.SupervisorThreads + spec.OtherTasks
	if b.HostNS {
		// The kernel counts all threads of the user (setrlimit(2)).
		own = spec.SupervisorThreads + sys.UserThreads(os.Getuid())
	}
	for _, r := range []struct {
		name     string
		resource int
		value    int
	}{
		// 1 byte also keeps the kernel from piping a dump into a program of the host
		// (fs/coredump.c). 0 does not (core(5)).
		{"core", unix.RLIMIT_CORE, 1},
		{"file_size_mb", unix.RLIMIT_FSIZE, l.FileSizeMB << 20},
		{"open_files", unix.RLIMIT_NOFILE, l.OpenFiles},
		{"processes", unix.RLIMIT_NPROC, l.Processes + own},
	} {
		if r.value <= 0 || r.resource == unix.RLIMIT_NPROC && l.Processes <= 0 {
			continue
		}
		old, err := b.limitOf(r.resource)
		if err != nil {
			return sys.On(r.name, err)
		}
		limit := min(uint64(r.value), old.Max)
		if err := stub.Setrlimit(b.Server, r.resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return sys.On(r.name, err)
		}
	}
	return nil
}

// LimitSignals limits the server to a quarter of the signals that its user may have queued. The
// kernel counts the queued signals of all processes of a user together, and each timer
// (timer_create(2)) as one. Without the limit a server could leave none for the user's other
// programs.
func (b *Restrictor) LimitSignals() error {
	old, err := b.limitOf(unix.RLIMIT_SIGPENDING)
	if err == nil {
		quarter := old.Cur / 4
		err = stub.Setrlimit(b.Server, unix.RLIMIT_SIGPENDING, &unix.Rlimit{Cur: quarter, Max: quarter})
	}
	return sys.On("queued signals", err)
}

// limitOf returns a limit of the server. While a batch is collected it returns the limit of
// this process, which the stub has inherited.
func (b *Restrictor) limitOf(resource int) (limit unix.Rlimit, err error) {
	if b.Server.Batching() {
		err = unix.Getrlimit(resource, &limit)
	} else {
		err = stub.Getrlimit(b.Server, resource, &limit)
	}
	return limit, err
}

// EmptyCoreDumps removes memory from the core dumps of a task and of all its children, and
// leaves registers and the kernel's notes (core(5)). A limit of the dump size is not enough:
// the kernel still sends dumps to a socket (core_pattern with an "@", Linux 6.16), and with a
// limit of 0 into a pipe. This step comes before the task becomes undumpable, because then
// its /proc files belong to root.
func EmptyCoreDumps(t *stub.Task) error {
	outcome := t.Optional(func() error { return writeAt(t, -1, "/proc/self/coredump_filter", "0") })
	return t.OnComplete(func() error {
		err := outcome()
		if err == nil || errors.Is(err, unix.ENOENT) || dumpsAreEmpty() { // ENOENT: the kernel has no core dumps
			return nil
		}
		return sys.On("coredump_filter", err)
	})
}

// dumpsAreEmpty reports whether this process already has the filter that EmptyCoreDumps
// writes. The task inherited it from this process. In a jail the file cannot be written,
// and the outer jail has set it to 0.
func dumpsAreEmpty() bool {
	filter, err := os.ReadFile("/proc/self/coredump_filter")
	return err == nil && len(filter) > 0 && strings.Trim(string(filter), "0\n") == ""
}

// EnterDir changes to the server's working directory.
func (b *Restrictor) EnterDir() error { return sys.On(b.Spec.Dir, stub.Chdir(b.Server, b.Spec.Dir)) }

// lockedSecurebits give root no special rights, irrevocably (capabilities(7), "securebits").
const lockedSecurebits = 1<<0 | 1<<1 | // NOROOT
	1<<2 | 1<<3 | // NO_SETUID_FIXUP
	1<<5 | // KEEP_CAPS locked off
	1<<6 | 1<<7 // NO_CAP_AMBIENT_RAISE

// DropAllCapabilities empties all five capability sets of a thread that has CAP_SETPCAP.
func DropAllCapabilities(t *stub.Task) error {
	if err := dropBounding(t); err != nil {
		return err
	}
	return dropHeld(t)
}

// dropHeld is DropAllCapabilities for a thread with an empty bounding set.
func dropHeld(t *stub.Task) error {
	if err := ClearAmbient(t); err != nil {
		return err
	}
	if _, err := stub.Prctl(t, unix.PR_SET_SECUREBITS, lockedSecurebits); err != nil {
		return sys.On("securebits", err)
	}
	return ClearCapabilities(t)
}

// ClearAmbient empties the ambient set.
func ClearAmbient(t *stub.Task) error {
	_, err := stub.Prctl(t, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
	return sys.On("ambient", err)
}

// ClearCapabilities empties the permitted, effective and inheritable sets.
func ClearCapabilities(t *stub.Task) error {
	return sys.On("capset", stub.Capset(t, &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &[2]unix.CapUserData{}))
}

// SetNoNewPrivs sets no_new_privs (prctl(2)).
func SetNoNewPrivs(t *stub.Task) error {
	_, err := stub.Prctl(t, unix.PR_SET_NO_NEW_PRIVS, 1)
	return err
}

// OpenRuleset makes the Landlock rulesets of the server and of the supervisor's workers. It
// runs while the task may still open the paths of the rules. A later step enforces the server's
// ruleset.
func (b *Restrictor) OpenRuleset() (err error) {
	if b.Ruleset, err = b.openRules(&b.Spec.Landlock); err != nil {
		return err
	}
	b.Root.closeTrees()
	b.WorkerRuleset = b.Ruleset
	if len(b.Spec.WorkerRules.Rules) > 0 {
		b.WorkerRuleset, err = b.openRules(&b.Spec.WorkerRules)
	}
	return err
}

func (b *Restrictor) openRules(rules *landlock.Ruleset) (int, error) {
	ruleset, err := landlock.Create(b.Init, rules, func(r landlock.Rule) (int, error) {
		if tree, ok := b.Root.takeTree(r.Path); ok {
			return tree, nil // the object that was attached there
		}
		fd, err := OpenObject(b.Init, unix.AT_FDCWD, r.Path)
		if err != nil || r.ID == (policy.FileID{}) {
			return fd, err
		}
		if Identify(b.Init, fd, sameFile(r.ID)) != nil {
			stub.Close(b.Init, fd)
			return -1, ErrSwapped
		}
		return fd, nil
	})
	var re *landlock.RuleError
	if errors.As(err, &re) {
		return -1, sys.On(re.Rule.Path, re.Err)
	}
	return ruleset, err
}

// CheckMounts looks up every restricting mount once more by its path. If another process moved
// the path while the jail was built, the path leads to an object without the mount, and
// CheckMounts fails. It comes before the filter, which refuses openat2.
func (b *Restrictor) CheckMounts() error {
	for i := range b.Spec.Mounts {
		m := &b.Spec.Mounts[i]
		if !m.OnExisting || (m.Kind == spec.MountBind || m.Kind == spec.MountPin) && !m.ReadOnly && !m.NoExec {
			continue
		}
		if err := b.checkMount(m); err != nil {
			return sys.On(m.Path, err)
		}
	}
	return nil
}

func (b *Restrictor) checkMount(m *spec.Mount) error {
	var id policy.FileID
	var fs unix.Statfs_t
	outcome := b.Init.Optional(func() error {
		fd, err := OpenLast(b.Init, unix.AT_FDCWD, m.Path)
		if err != nil {
			return err
		}
		defer stub.Close(b.Init, fd)
		if err := Identify(b.Init, fd, func(found policy.FileID) error { id = found; return nil }); err != nil {
			return err
		}
		return stub.Fstatfs(b.Init, fd, &fs)
	})
	return b.Init.OnComplete(func() error {
		switch err := outcome(); {
		case m.Kind == spec.MountMask && (err == unix.EACCES || err == unix.ENOENT):
			return nil // below the mask of a parent, or removed: there is nothing to read
		case err != nil:
			return err
		case m.Kind != spec.MountBind && m.Kind != spec.MountPin && id == m.ID,
			m.ReadOnly && fs.Flags&unix.ST_RDONLY == 0,
			m.NoExec && fs.Flags&unix.ST_NOEXEC == 0:
			return ErrSwapped
		}
		return nil
	})
}

// dropBounding empties the bounding set. The thread keeps what it holds, and what it inherits over an exec.
func dropBounding(t *stub.Task) error {
	last, err := lastCapability()
	for c := uintptr(0); err == nil && c <= last; c++ {
		_, err = stub.Prctl(t, unix.PR_CAPBSET_DROP, c)
	}
	return sys.On("bounding set", err)
}

// lastCapability returns the last capability of this kernel.
var lastCapability = sync.OnceValues(func() (uintptr, error) {
	return lastAccepted(func(c uintptr) error {
		_, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		return err
	})
})

// lastAccepted returns the last capability before the first that does not exist. Every kernel
// with Landlock has all capabilities up to CAP_LAST_CAP. EINVAL for one of those comes from a
// seccomp filter, so it is an error.
func lastAccepted(exists func(c uintptr) error) (last uintptr, err error) {
	for c := uintptr(unix.CAP_LAST_CAP); c < 64; c++ {
		err := exists(c)
		if err == unix.EINVAL && c > unix.CAP_LAST_CAP {
			break
		}
		if err != nil {
			return 0, err
		}
		last = c
	}
	return last, nil
}
