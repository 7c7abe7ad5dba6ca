package kernel

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Probe asks the host for everything that it offers. It starts a process, so it is for reports
// only.
func Probe() Features {
	f := probeForStart()
	f.SeccompTSync = filterFlag(unix.SECCOMP_FILTER_FLAG_TSYNC, "filter all threads at once")
	f.Inside = sandboxHere().name
	f.UserNamespaces = UserNamespaces()
	f.Sockets = Cache.Get("supervised_sockets", probeSupervisedSockets)
	f.MountAPI = Cache.Get("mount_api", probeMountAPI)
	f.Cgroup = cgroupFeature(LocateCgroup())
	filesystems, _ := os.ReadFile("/proc/filesystems")
	f.Overlay = overlayFeature(f.Kernel, string(filesystems))
	return f
}

// probeForStart asks what compiling a plan needs, with a few system calls and two files of /proc.
// It leaves user namespaces out, because the start tries them.
func probeForStart() Features {
	f := Features{OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: kernelRelease()}
	f.LandlockABI, f.Landlock = probeLandlock()
	f.Seccomp = probeSeccomp()
	f.SeccompNotify = seccompNotifyFeature()
	f.PtraceScope = ptraceScopeFeature(sys.Sysctl("kernel/yama/ptrace_scope")) // "" without Yama
	if f.PtraceScope.Answer == Yes {
		var own, copied [1]byte
		_, errno := sys.ReadMemory(os.Getpid(), uint64(uintptr(unsafe.Pointer(&own))), copied[:])
		f.PtraceScope = readsFeature(errno)
	}
	b, err := hostfs.ReadFile("/proc/self/mountinfo")
	switch {
	case isTransient(err):
		f.FreshProc = Undetermined(err.Error())
	case err != nil:
		f.FreshProc = Unavailable("/proc cannot be read: "+err.Error(), "mount /proc")
	default:
		f.FreshProc = freshProcFeature(string(b))
	}
	f.PidMax = kernelAtLeast(f.Kernel, 6, 14)
	return f
}

func isTransient(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}

// UserNamespaces reports whether this process can make user namespaces. It probes until an answer
// is certain, and then keeps that answer.
func UserNamespaces() Feature { return Cache.Get("userns", ProbeUserNamespaces) }

// RefreshUserNamespaces is UserNamespaces, but always probes.
func RefreshUserNamespaces() Feature { return Cache.Refresh("userns", ProbeUserNamespaces) }

// Cache keeps the certain answers of expensive probes.
var Cache featureCache

type featureCache struct {
	mu    sync.Mutex
	known map[string]Feature
}

// Get returns the kept answer, or the result of probe.
func (m *featureCache) Get(name string, probe func() Feature) Feature {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f, ok := m.known[name]; ok {
		return f
	}
	f := probe()
	if f.Answer != Unknown {
		if m.known == nil {
			m.known = make(map[string]Feature)
		}
		m.known[name] = f
	}
	return f
}

// Refresh probes again and replaces the kept answer.
func (m *featureCache) Refresh(name string, probe func() Feature) Feature {
	m.mu.Lock()
	delete(m.known, name)
	m.mu.Unlock()
	return m.Get(name, probe)
}

func kernelRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

func probeLandlock() (effective int, f Feature) {
	abi, err := ll.LandlockGetABIVersion()
	switch {
	case errors.Is(err, unix.ENOSYS):
		return 0, underFilter(seccompMode(), Unavailable("this kernel is built without Landlock", "use Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK"))
	case errors.Is(err, unix.EOPNOTSUPP):
		return 0, Unavailable("Landlock is not enabled at boot", "add landlock to the kernel's lsm= list")
	case errors.Is(err, unix.EPERM):
		return 0, Unavailable("a seccomp filter around this process refuses Landlock", "use a container runtime whose profile knows Landlock (2022 or newer)")
	case err != nil:
		return 0, Undetermined("the kernel answers " + err.Error())
	}
	errata := uint32(0)
	if fixed, err := ll.LandlockGetErrata(); err == nil { // an older kernel answers EINVAL
		errata = uint32(fixed)
	}
	return landlock.EffectiveABI(abi, errata), landlockFeature(abi, errata)
}

func probeSeccomp() Feature {
	if _, ok := seccomp.ArchOf(runtime.GOARCH); !ok {
		return Unavailable("there is no table of system calls for "+runtime.GOARCH, "use amd64 or arm64")
	}
	return seccompAction(unix.SECCOMP_RET_ERRNO, "answer with an errno")
}

func seccompAction(action uint32, what string) Feature {
	_, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return seccompAnswer(errno, 0, what)
}

// filterFlag tests flags of SECCOMP_SET_MODE_FILTER with a null filter: EFAULT means that the
// kernel knows the flags (seccomp(2)).
func filterFlag(flags uintptr, what string) Feature {
	_, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, 0)
	return seccompAnswer(errno, unix.EFAULT, what)
}

func seccompAnswer(errno, good syscall.Errno, what string) Feature {
	switch errno {
	case good:
		return Available("")
	case unix.ENOSYS, unix.EINVAL, unix.EOPNOTSUPP:
		f := Unavailable("this kernel's seccomp cannot "+what, "use a kernel with CONFIG_SECCOMP_FILTER, Linux 5.19 or newer")
		if errno == unix.ENOSYS {
			f = underFilter(seccompMode(), f)
		}
		return f
	case unix.EPERM:
		return Unavailable("a seccomp filter around this process refuses further filters", "start the container with a seccomp profile that allows seccomp(2)")
	}
	return Undetermined("the kernel answers " + errno.Error())
}

func probeSupervisedSockets() Feature {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = sys.BindToLoopback(fd)
		unix.Close(fd)
	}
	switch {
	case err == nil:
		return Available("")
	case isTransient(err):
		return Undetermined(err.Error())
	}
	return Unavailable("a supervisor cannot bind a socket to the loopback interface ("+err.Error()+")", "use Linux 5.7 or newer")
}

// seccompNotifyFeature asks for user notification with WAIT_KILLABLE_RECV (Linux 5.19). Without
// it, signals of Go's runtime interrupt each mediated call of a Go server.
func seccompNotifyFeature() Feature {
	f := seccompAction(unix.SECCOMP_RET_USER_NOTIF, "ask a supervisor")
	if f.Answer != Yes {
		return f
	}
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	f = filterFlag(flags, "wait for a supervisor undisturbed by signals")
	if filtered, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); f.Answer == Yes && err == nil && filtered != 0 {
		return Cache.Get("seccomp_listener", func() Feature { return probeListener(flags) })
	}
	return f
}

// probeListener installs a filter with a listener on a thread that then ends. A process takes one
// listener at most: it has one already where the sandbox around it supervises calls, as Sysbox and
// LXD do.
func probeListener(flags uintptr) Feature {
	answer := make(chan Feature)
	go func() {
		runtime.LockOSThread() // without an unlock the thread ends with this goroutine
		answer <- tryListener(flags)
	}()
	return <-answer
}

func tryListener(flags uintptr) Feature {
	allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	program := unix.SockFprog{Len: 1, Filter: &allow}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err != nil {
		return Undetermined(err.Error())
	}
	fd, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	switch errno {
	case 0:
		unix.Close(int(fd))
		return Available("")
	case unix.EBUSY:
		return Unavailable("the sandbox around this process supervises its system calls, and the kernel allows one such supervisor", "start mcp-jail outside that sandbox")
	}
	return Undetermined("the kernel answers " + errno.Error())
}

func hasCapability(number int) bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	return unix.Capget(&hdr, &caps[0]) == nil && caps[number/32].Effective&(1<<(number%32)) != 0
}

// seccompMode returns the Seccomp line of /proc/self/status: "2" under a filter.
func seccompMode() string {
	b, _ := hostfs.ReadFile("/proc/self/status")
	for l := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(l, "Seccomp:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// probeMountAPI calls mount_setattr (Linux 5.12), the newest of the three calls, with an unknown
// flag. The kernel checks flags before privileges.
func probeMountAPI() Feature {
	_, _, errno := syscall.RawSyscall6(unix.SYS_MOUNT_SETATTR, ^uintptr(0), 0, 1<<31, 0, 0, 0)
	switch errno {
	case unix.EINVAL:
		return Available("")
	case unix.ENOSYS:
		return Unavailable("this kernel has no mount_setattr, or a seccomp filter around this process hides it", "use Linux 5.12 or newer")
	case unix.EPERM:
		return Unavailable("a seccomp filter around this process refuses mount_setattr", "start the container with a seccomp profile that allows it in user namespaces")
	}
	return Undetermined("the kernel answers " + errno.Error())
}
