package rootfs

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"golang.org/x/sys/unix"
)

// maskedProc are files of a fresh proc that tell of more than the jail.
// rootSecrets are those that only the host's root may open, even one without a
// capability. /proc is read-only besides.
var (
	maskedProc       = []string{"keys", "key-users"}
	maskedProcOfRoot = []string{
		"kcore", "kmsg", "timer_list", "sysrq-trigger", "sched_debug", "latency_stats",
		"kpagecount", "kpageflags", "kpagecgroup", "vmcore", "vmallocinfo", "slabinfo",
		"pagetypeinfo", "allocinfo", "lock_stat", "lockdep", "lockdep_chains", "lockdep_stats",
	}
)

// openProc takes the jail's proc, where the plan has one, and the sysctls, which may be
// the host's: the way there ends with the old root.
func (b *Builder) openProc() error {
	b.proc = -1
	if b.Spec.FreshProc {
		switch err := b.PrivateFS.procErr; {
		case errors.Is(err, unix.EPERM):
			// The plan counted on it, for one to watch the memory.
			return step.On("the kernel refuses a fresh proc although nothing of the host's seems to be covered", err)
		case err != nil:
			return step.On("proc", err)
		}
		b.proc = b.PrivateFS.proc
	}
	sys := "/proc/sys"
	if b.proc >= 0 {
		sys = "sys"
	}
	b.sys, _ = b.T.Openat(b.proc, sys, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return nil
}

// sealProc closes the door to further user namespaces behind this one, limits the
// processes, and makes the jail's proc read-only.
func (b *Builder) SealProc() error {
	defer b.T.Close(b.sys)
	if err := WriteAt(b.T, b.sys, "user/max_user_namespaces", "0"); err != nil {
		b.Notes = append(b.Notes, "user.max_user_namespaces could not be set to 0 inside: the seccomp filter alone refuses nested namespaces")
	}
	if i := b.Spec.Inotify; i != (spec.Inotify{}) {
		if err := WriteAt(b.T, b.sys, "user/max_inotify_instances", strconv.Itoa(i.Instances)); err != nil {
			return step.On("max_inotify_instances", err)
		}
		if err := WriteAt(b.T, b.sys, "user/max_inotify_watches", strconv.Itoa(i.Watches)); err != nil {
			return step.On("max_inotify_watches", err)
		}
	}
	if b.Spec.PidMax {
		// The init has its tasks by now, with numbers below these. Never on a
		// kernel where this is the host's (see compile): a PID
		// namespace has its own since 6.14. Numbers below 300 are not reused; 300 is, and
		// pid_max is one past the last.
		if err := WriteAt(b.T, b.sys, "kernel/pid_max", fmt.Sprint(reservedPids+b.Spec.Limits.Processes)); err != nil {
			return step.On("pid_max", err)
		}
		// The numbers that are used once are skipped, or they would come on top.
		if err := WriteAt(b.T, b.sys, "kernel/ns_last_pid", fmt.Sprint(reservedPids)); err != nil {
			return step.On("ns_last_pid: without it root's limit of processes would be exceeded by "+fmt.Sprint(reservedPids)+"; run as an ordinary user", err)
		}
	}
	if b.proc >= 0 {
		return step.On("proc", b.T.MountSetattr(b.proc, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}))
	}
	return nil
}

// reservedPids is the kernel's RESERVED_PIDS: process numbers below it are used
// once and not again.
const reservedPids = 300

// writeAt writes to a file below a directory; -1 for the directory is none, and leads
// to absolute names only.
func WriteAt(t *stub.Task, dir int, name, content string) error {
	fd, err := t.Openat(dir, name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer t.Close(fd)
	_, err = t.Write(fd, []byte(content))
	return err
}

func (b *Builder) attachProc() error {
	if err := b.mkdirs("/proc", openDir); err != nil {
		return err
	}
	if b.proc < 0 {
		if !b.Spec.HostRoot() {
			return nil
		}
		// Below a "/" that is granted lies the host's.
		target, err := OpenObject(b.T, b.root, "proc")
		if err != nil {
			return step.On("/proc", err)
		}
		defer b.T.Close(target)
		return step.On("/proc", b.maskAt(target, true))
	}
	if err := b.attach(b.proc, "/proc"); err != nil {
		return err
	}
	secrets := maskedProc
	if os.Getuid() == 0 {
		secrets = append(slices.Clone(secrets), maskedProcOfRoot...)
	}
	for _, name := range secrets {
		// Of what this kernel does not have no mask is made: one that was attached nowhere
		// keeps the kernel busy for some hundred microseconds when it goes.
		missing, err := b.missing(name)
		if err != nil {
			return step.On("/proc/"+name, err)
		}
		if missing {
			continue
		}
		tree, err := b.newMask(false)
		if err != nil {
			return step.On("/proc/"+name, err)
		}
		if err := attachIn(b.T, tree, b.proc, name); err != nil {
			return step.On("/proc/"+name, err)
		}
		b.releaseMask(tree)
	}
	return nil
}

// missing tells whether the jail's proc lacks a file. What the host's lacks is looked for
// in any case.
func (b *Builder) missing(name string) (bool, error) {
	if !b.T.Recording() {
		return b.T.Faccessat(b.proc, name, unix.F_OK) == unix.ENOENT, nil
	}
	if !notOnHost()[name] {
		return false, nil
	}
	there := b.T.Optional(func() error { return b.T.Faccessat(b.proc, name, unix.F_OK) })
	return true, b.T.OnComplete(func() error {
		if there() != unix.ENOENT {
			return &stub.CallError{Call: unix.SYS_FACCESSAT}
		}
		return nil
	})
}

var notOnHost = sync.OnceValue(func() map[string]bool {
	lacks := map[string]bool{}
	for _, name := range slices.Concat(maskedProc, maskedProcOfRoot) {
		lacks[name] = unix.Faccessat(unix.AT_FDCWD, "/proc/"+name, unix.F_OK, 0) == unix.ENOENT
	}
	return lacks
})
