package confine

import (
	"errors"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Everything here is about the one thread that will be the server. What a thread gives
// up it cannot get back, and its children never had.

// freshKeyring leaves the user's session keyring, which a process otherwise
// shares with whoever started it (session-keyring(7)).
func freshKeyring(t *stub.Task) error {
	if _, err := t.Call(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0); err != nil && err != unix.ENOSYS {
		return on("join a session keyring", err)
	}
	return nil
}

// initThreads is what the shim's own threads take of RLIMIT_NPROC: see spareThreads.
const initThreads = 19

func (b *builder) limits() error {
	l := b.order.Limits
	own := initThreads + 1 // the init that is a stub
	if b.bare {
		// The kernel counts all of the user's (setrlimit(2)).
		own = initThreads + tasksOfUser(os.Getuid())
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
		{"processes", unix.RLIMIT_NPROC, l.Processes + own},
	} {
		if r.value <= 0 || r.resource == unix.RLIMIT_NPROC && l.Processes <= 0 {
			continue
		}
		old, err := b.limitOf(r.resource)
		if err != nil {
			return on(r.name, err)
		}
		limit := min(uint64(r.value), old.Max)
		if err := b.server.Setrlimit(r.resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return on(r.name, err)
		}
	}
	return nil
}

// limitSignals gives the server a quarter of the signals that may be queued for its user:
// those of all of the user's processes are counted together, a timer (timer_create(2)) is
// one of them for as long as there is it, and without any the user's programs get none.
func (b *builder) limitSignals() error {
	old, err := b.limitOf(unix.RLIMIT_SIGPENDING)
	if err == nil {
		quarter := old.Cur / 4
		err = b.server.Setrlimit(unix.RLIMIT_SIGPENDING, &unix.Rlimit{Cur: quarter, Max: quarter})
	}
	return on("queued signals", err)
}

// limitOf is a limit of the server's. While calls are only noted down it is this process's,
// which the stub was born with.
func (b *builder) limitOf(resource int) (limit unix.Rlimit, err error) {
	if b.server.Recording() {
		err = unix.Getrlimit(resource, &limit)
	} else {
		err = b.server.Getrlimit(resource, &limit)
	}
	return limit, err
}

// emptyDumps leaves no memory in the core dumps of a process, and of all that it becomes and
// starts: registers, and what the kernel tells of it (core(5)). A limit of their size does
// not keep the kernel from sending them to a socket (core_pattern with an "@", Linux 6.16),
// nor into a pipe where it is 0 (see limits). It comes before the process makes itself
// undumpable, upon which its /proc is root's; the server's own cannot be written to.
func emptyDumps(t *stub.Task) error {
	outcome := t.Optional(func() error { return writeAt(t, -1, "/proc/self/coredump_filter", "0") })
	return t.OnComplete(func() error {
		err := outcome()
		if err == nil || errors.Is(err, unix.ENOENT) || dumpsAreEmpty() { // ENOENT: a kernel without dumps
			return nil
		}
		return on("coredump_filter", err)
	})
}

// dumpsAreEmpty reports whether this process already has the filter that emptyDumps
// writes. The task inherited it from this process. In a jail the file cannot be written,
// and the outer jail has set it to 0.
func dumpsAreEmpty() bool {
	filter, err := os.ReadFile("/proc/self/coredump_filter")
	return err == nil && len(filter) > 0 && strings.Trim(string(filter), "0\n") == ""
}

func (b *builder) enterDir() error { return on(b.order.Dir, b.server.Chdir(b.order.Dir)) }

// securebits(7): root is nobody special, and nothing of it can be undone.
const lockedSecurebits = 1<<0 | 1<<1 | // NOROOT
	1<<2 | 1<<3 | // NO_SETUID_FIXUP
	1<<5 | // KEEP_CAPS locked off
	1<<6 | 1<<7 // NO_CAP_AMBIENT_RAISE

// giveUp empties all five sets of a thread that may do so.
func giveUp(t *stub.Task) error {
	if err := clearAmbient(t); err != nil {
		return err
	}
	if err := dropBounding(t, func(uintptr) bool { return true }); err != nil {
		return err
	}
	if _, err := t.Prctl(unix.PR_SET_SECUREBITS, lockedSecurebits); err != nil {
		return on("securebits", err)
	}
	return dropHeld(t)
}

func clearAmbient(t *stub.Task) error {
	_, err := t.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
	return on("ambient", err)
}

// dropHeld empties the sets that a thread holds.
func dropHeld(t *stub.Task) error {
	return on("capset", t.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &[2]unix.CapUserData{}))
}

func noNewPrivileges(t *stub.Task) error {
	_, err := t.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1)
	return err
}

// openRuleset makes the Landlock rulesets while the rights to open their paths are
// still there; landlock puts the server's in force.
func (b *builder) openRuleset() (err error) {
	if b.ruleset, err = b.openRules(&b.order.Landlock); err != nil {
		return err
	}
	b.root.closeTrees()
	b.making = b.ruleset
	if len(b.order.Making.Rules) > 0 {
		b.making, err = b.openRules(&b.order.Making)
	}
	return err
}

func (b *builder) openRules(rules *landlockRules) (int, error) {
	ruleset, err := createRuleset(b.init, rules, func(r landlockRule) (int, error) {
		if tree, ok := b.root.takeTree(r.Path); ok {
			return tree, nil // the very object that is there
		}
		fd, err := openObject(b.init, unix.AT_FDCWD, r.Path)
		if err != nil || r.ID == (policy.FileID{}) {
			return fd, err
		}
		if identify(b.init, fd, sameAs(r.ID)) != nil {
			b.init.Close(fd)
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

// checkMounts looks every carve-out up once more by its name: a name that was
// moved while the jail was being built leads to something without the mount. It
// comes before the filter, which does not let openat2 pass.
func (b *builder) checkMounts() error {
	for i := range b.order.Mounts {
		op := &b.order.Mounts[i]
		if !op.inside || (op.kind == mountBind || op.kind == mountPin) && !op.ro && !op.noexec {
			continue
		}
		if err := b.checkMount(op); err != nil {
			return on(op.path, err)
		}
	}
	return nil
}

func (b *builder) checkMount(op *mountOp) error {
	var id policy.FileID
	var fs unix.Statfs_t
	outcome := b.init.Optional(func() error {
		fd, err := openLast(b.init, unix.AT_FDCWD, op.path)
		if err != nil {
			return err
		}
		defer b.init.Close(fd)
		if err := identify(b.init, fd, func(found policy.FileID) error { id = found; return nil }); err != nil {
			return err
		}
		return b.init.Fstatfs(fd, &fs)
	})
	return b.init.OnComplete(func() error {
		switch err := outcome(); {
		case op.kind == mountMask && (err == unix.EACCES || err == unix.ENOENT):
			return nil // below a mask of its own parent, or gone: nothing is there to be read
		case err != nil:
			return err
		case op.kind != mountBind && op.kind != mountPin && id == op.id,
			op.ro && fs.Flags&unix.ST_RDONLY == 0,
			op.noexec && fs.Flags&unix.ST_NOEXEC == 0:
			return errSwapped
		}
		return nil
	})
}

// dropBounding takes capabilities out of the bounding set.
func dropBounding(t *stub.Task, drop func(c uintptr) bool) error {
	last, err := lastCapability()
	for c := uintptr(0); err == nil && c <= last; c++ {
		if drop(c) {
			_, err = t.Prctl(unix.PR_CAPBSET_DROP, c)
		}
	}
	return on("bounding set", err)
}

// lastCapability is that of this kernel.
var lastCapability = sync.OnceValues(func() (uintptr, error) {
	return lastThat(func(c uintptr) error {
		_, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		return err
	})
})

// lastThat is the last capability before the first that is none. No kernel with Landlock
// lacks one that is known here: whoever says so is a filter, and believed in nothing.
func lastThat(exists func(c uintptr) error) (last uintptr, err error) {
	for c := uintptr(0); c < 64; c++ {
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
