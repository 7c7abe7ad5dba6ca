package features

import (
	"crypto/rand"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/proc"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"golang.org/x/sys/unix"
)

// SelfPath is the file of the running program.
const SelfPath = "/proc/self/exe"

// Detect asks the host what compiling a plan needs, and no more, because each start calls it.
func Detect() Facts {
	f := Facts{Features: ProbeForStart(), Supported: true, UID: os.Getuid(), PID: os.Getpid(), Cgroup: cgroup.Locate()}
	f.Machine, _ = seccomp.ArchOf(runtime.GOARCH)
	f.ProcFault = procFault()
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, 0, 0, 0, 0, 0) // of no process
	f.Traces = tracesFeature(errno)
	f.FullCopies = kernelAtLeast(f.Kernel, 6, 6) // since then a tmpfs takes user.* attributes
	f.Inotify.Instances, _ = strconv.Atoi(proc.Sysctl("fs/inotify/max_user_instances"))
	f.Inotify.Watches, _ = strconv.Atoi(proc.Sysctl("fs/inotify/max_user_watches"))
	f.Devices = make([]string, 0, len(spec.DeviceNodes))
	var st unix.Stat_t
	for _, name := range spec.DeviceNodes {
		if name = "/dev/" + name; unix.Lstat(name, &st) == nil {
			f.Devices = append(f.Devices, name)
		}
	}
	return f
}

// procFault returns why no jail can be built with this /proc, or "".
func procFault() string {
	var st unix.Statfs_t
	switch {
	case unix.Statfs("/proc/self", &st) != nil || st.Type != unix.PROC_SUPER_MAGIC:
		return "there is no /proc here, through which the processes of a jail are started"
	case st.Flags&unix.ST_RDONLY != 0 && strings.Trim(proc.ReadLine("/proc/self/coredump_filter"), "0") != "":
		return "/proc is read-only here, through which namespaces are set up and memory is kept out of core dumps"
	}
	return ""
}

// kernelFiles are the files of /proc in which language runtimes read about the machine. None
// tells about a process. debian_version is among them because pip takes "permission denied" there
// for a failure, and does not where the file is missing, as it is in a jail with namespaces.
var kernelFiles = []string{
	"/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo", "/proc/stat", "/proc/uptime", "/proc/version",
	"/proc/sys/kernel/osrelease", "/proc/sys/kernel/ostype", "/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max",
	"/proc/sys/net/core/somaxconn", "/proc/sys/vm/max_map_count", "/proc/sys/vm/overcommit_memory",
	"/etc/debian_version",
}

func (f *Facts) detectHostNS() {
	for _, name := range kernelFiles {
		if _, err := os.Lstat(name); err == nil {
			f.KernelFiles = append(f.KernelFiles, name)
		}
	}
	for _, name := range []string{"/etc/hosts", "/etc/resolv.conf"} {
		if real, err := filepath.EvalSymlinks(name); err == nil {
			f.HostNames = append(f.HostNames, real)
			if name == "/etc/resolv.conf" {
				f.Resolver = append(f.Resolver, real)
			}
		}
	}
	f.ReadsProc = showsOwnNumber()
	f.Sockets = Cache.Get("supervised_sockets", probeSupervisedSockets)
	if f.TracesOwn = f.PtraceScope; f.TracesOwn.Answer == Yes {
		f.TracesOwn = tracesOwn(proc.Sysctl("kernel/yama/ptrace_scope"))
	}
	f.TempDir = path.Join(tempDir(), "mcp-jail-"+strings.ToLower(rand.Text()))
}

func tempDir() string {
	if dir, err := filepath.EvalSymlinks(os.TempDir()); err == nil && path.IsAbs(dir) {
		return dir
	}
	return "/tmp"
}
