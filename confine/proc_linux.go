package confine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

// procSecrets are files of a fresh proc that tell of more than the jail.
// rootSecrets are those that only the host's root may open, even one without a
// capability. /proc is read-only besides.
var (
	procSecrets = []string{"keys", "key-users"}
	rootSecrets = []string{
		"kcore", "kmsg", "timer_list", "sysrq-trigger", "sched_debug", "latency_stats",
		"kpagecount", "kpageflags", "kpagecgroup", "vmcore", "vmallocinfo", "slabinfo",
		"pagetypeinfo", "allocinfo", "lock_stat", "lockdep", "lockdep_chains", "lockdep_stats",
	}
)

// openProc takes the jail's proc, where the plan has one, and the sysctls, which may be
// the host's: the way there ends with the old root.
func (b *rootBuilder) openProc() error {
	b.proc = -1
	if b.order.FreshProc {
		switch err := b.own.procErr; {
		case errors.Is(err, unix.EPERM):
			// The plan counted on it, for one to watch the memory.
			return on("the kernel refuses a fresh proc although nothing of the host's seems to be covered", err)
		case err != nil:
			return on("proc", err)
		}
		b.proc = b.own.proc
	}
	sys := "/proc/sys"
	if b.proc >= 0 {
		sys = "sys"
	}
	b.sys, _ = b.t.Openat(b.proc, sys, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return nil
}

// sealProc closes the door to further user namespaces behind this one, limits the
// processes, and makes the jail's proc read-only.
func (b *rootBuilder) sealProc() error {
	defer b.t.Close(b.sys)
	if err := writeAt(b.t, b.sys, "user/max_user_namespaces", "0"); err != nil {
		b.notes = append(b.notes, "user.max_user_namespaces could not be set to 0 inside: the seccomp filter alone refuses nested namespaces")
	}
	if i := b.order.Inotify; i != (inotify{}) {
		if err := writeAt(b.t, b.sys, "user/max_inotify_instances", strconv.Itoa(i.Instances)); err != nil {
			return on("max_inotify_instances", err)
		}
		if err := writeAt(b.t, b.sys, "user/max_inotify_watches", strconv.Itoa(i.Watches)); err != nil {
			return on("max_inotify_watches", err)
		}
	}
	if b.order.PidMax {
		// The init has its tasks by now, with numbers below these. Never on a
		// kernel where this is the host's (see compile): a PID
		// namespace has its own since 6.14. Numbers below 300 are not reused; 300 is, and
		// pid_max is one past the last.
		if err := writeAt(b.t, b.sys, "kernel/pid_max", fmt.Sprint(reservedPids+b.order.Limits.Processes)); err != nil {
			return on("pid_max", err)
		}
		// The numbers that are used once are skipped, or they would come on top.
		if err := writeAt(b.t, b.sys, "kernel/ns_last_pid", fmt.Sprint(reservedPids)); err != nil {
			return on("ns_last_pid: without it root's limit of processes would be exceeded by "+fmt.Sprint(reservedPids)+"; run as an ordinary user", err)
		}
	}
	if b.proc >= 0 {
		return on("proc", b.t.MountSetattr(b.proc, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}))
	}
	return nil
}

// reservedPids is the kernel's RESERVED_PIDS: process numbers below it are used
// once and not again.
const reservedPids = 300

// writeAt writes to a file below a directory; -1 for the directory is none, and leads
// to absolute names only.
func writeAt(t *stub.Task, dir int, name, content string) error {
	fd, err := t.Openat(dir, name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer t.Close(fd)
	_, err = t.Write(fd, []byte(content))
	return err
}

func (b *rootBuilder) attachProc() error {
	if err := b.mkdirs("/proc", openDir); err != nil {
		return err
	}
	if b.proc < 0 {
		if !b.order.hostRoot() {
			return nil
		}
		// Below a "/" that is granted lies the host's.
		target, err := openObject(b.t, b.root, "proc")
		if err != nil {
			return on("/proc", err)
		}
		defer b.t.Close(target)
		return on("/proc", b.maskAt(target, true))
	}
	if err := b.attach(b.proc, "/proc"); err != nil {
		return err
	}
	secrets := procSecrets
	if os.Getuid() == 0 {
		secrets = append(slices.Clone(secrets), rootSecrets...)
	}
	for _, name := range secrets {
		// Of what this kernel does not have no mask is made: one that was attached nowhere
		// keeps the kernel busy for some hundred microseconds when it goes.
		missing, err := b.missing(name)
		if err != nil {
			return on("/proc/"+name, err)
		}
		if missing {
			continue
		}
		tree, err := b.newMask(false)
		if err != nil {
			return on("/proc/"+name, err)
		}
		if err := attachIn(b.t, tree, b.proc, name); err != nil {
			return on("/proc/"+name, err)
		}
		b.maskDone(tree)
	}
	return nil
}

// missing tells whether the jail's proc lacks a file. What the host's lacks is looked for
// in any case.
func (b *rootBuilder) missing(name string) (bool, error) {
	if !b.t.Recording() {
		return b.t.Faccessat(b.proc, name, unix.F_OK) == unix.ENOENT, nil
	}
	if !hostLacks()[name] {
		return false, nil
	}
	there := b.t.Optional(func() error { return b.t.Faccessat(b.proc, name, unix.F_OK) })
	return true, b.t.OnComplete(func() error {
		if there() != unix.ENOENT {
			return &stub.CallError{Call: unix.SYS_FACCESSAT}
		}
		return nil
	})
}

var hostLacks = sync.OnceValue(func() map[string]bool {
	lacks := map[string]bool{}
	for _, name := range slices.Concat(procSecrets, rootSecrets) {
		lacks[name] = unix.Faccessat(unix.AT_FDCWD, "/proc/"+name, unix.F_OK, 0) == unix.ENOENT
	}
	return lacks
})
