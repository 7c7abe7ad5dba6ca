package jail

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// maskedProc are files of a fresh proc that show more than the jail. maskedProcOfRoot are
// files that the host's root, even without capabilities, may open and other users may not.
var (
	maskedProc       = []string{"keys", "key-users"}
	maskedProcOfRoot = []string{
		"kcore", "kmsg", "timer_list", "sysrq-trigger", "sched_debug", "latency_stats",
		"kpagecount", "kpageflags", "kpagecgroup", "vmcore", "vmallocinfo", "slabinfo",
		"pagetypeinfo", "allocinfo", "lock_stat", "lockdep", "lockdep_chains", "lockdep_stats",
	}
)

// openProc sets b.proc if the spec has a fresh proc, and opens the sysctls, in the fresh proc
// or in the host's. It runs before pivot, which takes the host's proc away.
func (b *rootBuilder) openProc() error {
	b.proc = -1
	if b.Spec.FreshProc {
		switch err := b.PrivateFS.procErr; {
		case errors.Is(err, unix.EPERM):
			// The plan relies on a fresh proc, among others for sampling memory.
			return sys.On("the kernel refuses a fresh proc although nothing seems to be mounted over the host's", err)
		case err != nil:
			return sys.On("proc", err)
		}
		b.proc = b.PrivateFS.proc
	}
	sys := "/proc/sys"
	if b.proc >= 0 {
		sys = "sys"
	}
	b.sys, _ = stub.Openat(b.Task, b.proc, sys, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return nil
}

// sealProc forbids further user namespaces in the jail, sets the limits that are sysctls of
// a namespace, and makes the jail's proc read-only.
func (b *rootBuilder) sealProc() error {
	defer stub.Close(b.Task, b.sys)
	if err := writeAt(b.Task, b.sys, "user/max_user_namespaces", "0"); err != nil {
		b.Notes = append(b.Notes, "user.max_user_namespaces could not be set to 0 inside: the seccomp filter alone refuses nested namespaces")
	}
	var err error
	set := func(name, value string) { err = errors.Join(err, sys.On(name, writeAt(b.Task, b.sys, name, value))) }
	if i := b.Spec.Inotify; i != (spec.Inotify{}) {
		set("user/max_inotify_instances", strconv.Itoa(i.Instances))
		set("user/max_inotify_watches", strconv.Itoa(i.Watches))
	}
	// Two jails give their servers different numbers, so a server does not take itself for the
	// one that left a lock file. The numbers end at the least pid_max that a kernel begins with.
	numbers := 32768 - reservedPids
	if b.Spec.PidMax {
		// pid_max belongs to the PID namespace since Linux 6.14, and the plan sets PidMax only
		// there. The init's tasks already have lower numbers. The kernel reuses numbers from
		// 300 on, and pid_max is one past the last number.
		numbers = b.Spec.Limits.Processes + 1 // the parent of the server
		set("kernel/pid_max", strconv.Itoa(reservedPids+numbers))
	}
	last := reservedPids + rand.N(max(1, numbers-2))
	if n := b.Spec.HostPID - last; n == 1 || n == 2 {
		last = b.Spec.HostPID // the self-test proves that the jail has no process of this number
	}
	if begin := func() error { return writeAt(b.Task, b.sys, "kernel/ns_last_pid", strconv.Itoa(last)) }; !b.Spec.PidMax {
		b.Task.Optional(begin)
	} else { // the numbers below 300 would add to the limit
		err = errors.Join(err, sys.On("ns_last_pid: without it root's limit of processes would be exceeded by "+strconv.Itoa(reservedPids)+"; run as an ordinary user", begin()))
	}
	if b.proc >= 0 {
		err = errors.Join(err, sys.On("proc", stub.MountSetattr(b.Task, b.proc, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})))
	}
	return err
}

// reservedPids is the kernel's RESERVED_PIDS. Process numbers below it are not reused.
const reservedPids = 300

// writeAt writes content to a file below dir. With dir -1 the name must be absolute.
func writeAt(t *stub.Task, dir int, name, content string) error {
	fd, err := stub.Openat(t, dir, name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer stub.Close(t, fd)
	_, err = stub.Write(t, fd, []byte(content))
	return err
}

// attachProc attaches the jail's proc and masks files in it. Without a fresh proc it masks
// the host's proc, if the host's root is granted.
func (b *rootBuilder) attachProc() error {
	if err := b.mkdirs("/proc", openDir); err != nil {
		return err
	}
	if b.proc < 0 {
		if !b.Spec.HostRoot() {
			return nil
		}
		// A granted "/" contains the host's proc.
		target, err := OpenObject(b.Task, b.root, "proc")
		if err != nil {
			return sys.On("/proc", err)
		}
		defer stub.Close(b.Task, target)
		return sys.On("/proc", b.maskAt(target, true))
	}
	if err := b.attach(b.proc, "/proc"); err != nil {
		return err
	}
	for _, name := range secretsOfProc() {
		// Make no mask for a file that this kernel lacks: to release a mask that was never
		// attached takes the kernel long.
		missing, err := b.missing(name)
		if err != nil {
			return sys.On("/proc/"+name, err)
		}
		if missing {
			continue
		}
		tree, err := b.newMask(false)
		if err != nil {
			return sys.On("/proc/"+name, err)
		}
		if err := attachIn(b.Task, tree, b.proc, name); err != nil {
			return sys.On("/proc/"+name, err)
		}
		b.releaseMask(tree)
	}
	return nil
}

func secretsOfProc() []string {
	if os.Getuid() == 0 {
		return slices.Concat(maskedProc, maskedProcOfRoot)
	}
	return maskedProc
}

// missing reports whether the jail's proc lacks a file. While a batch is recorded it asks the
// host's proc, and the batch checks that the jail's proc lacks the file too.
func (b *rootBuilder) missing(name string) (bool, error) {
	if !b.Task.Batching() {
		return stub.Faccessat(b.Task, b.proc, name, unix.F_OK) == unix.ENOENT, nil
	}
	if !notOnHost()[name] {
		return false, nil
	}
	there := b.Task.Optional(func() error { return stub.Faccessat(b.Task, b.proc, name, unix.F_OK) })
	return true, b.Task.OnComplete(func() error {
		if there() != unix.ENOENT {
			return &stub.CallError{Call: unix.SYS_FACCESSAT}
		}
		return nil
	})
}

// notOnHost returns the files to mask that the host's proc lacks.
var notOnHost = sync.OnceValue(func() map[string]bool {
	lacks := map[string]bool{}
	for _, name := range secretsOfProc() {
		lacks[name] = unix.Faccessat(unix.AT_FDCWD, "/proc/"+name, unix.F_OK, 0) == unix.ENOENT
	}
	return lacks
})
