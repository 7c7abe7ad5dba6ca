package kernel

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// SelfPath is the file of the running program.
const SelfPath = "/proc/self/exe"

// Detect asks the host what compiling a plan needs, and no more, because each start calls it.
func Detect() Facts {
	f := Facts{Features: probeForStart(), Supported: true, UID: os.Getuid(), PID: os.Getpid(), Cgroup: LocateCgroup()}
	f.Machine, _ = seccomp.ArchOf(runtime.GOARCH)
	f.ProcFault = procFault()
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, 0, 0, 0, 0, 0) // of no process
	f.Traces = tracesFeature(errno)
	f.FullCopies = kernelAtLeast(f.Kernel, 6, 6) // since then a tmpfs takes user.* attributes
	f.Inotify.Instances, _ = strconv.Atoi(sys.Sysctl("fs/inotify/max_user_instances"))
	f.Inotify.Watches, _ = strconv.Atoi(sys.Sysctl("fs/inotify/max_user_watches"))
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
	case st.Flags&unix.ST_RDONLY != 0 && strings.Trim(sys.ReadLine("/proc/self/coredump_filter"), "0") != "":
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
		f.TracesOwn = tracesOwn(sys.Sysctl("kernel/yama/ptrace_scope"))
	}
	f.TempDir = path.Join(tempDir(), "mcp-jail-"+strings.ToLower(rand.Text()))
}

func tempDir() string {
	if dir, err := filepath.EvalSymlinks(os.TempDir()); err == nil && path.IsAbs(dir) {
		return dir
	}
	return "/tmp"
}

// errDynamic is the error of a program that is linked with libraries, as Go links it with cgo.
var errDynamic = errors.New("this program was built with cgo, and so needs libraries to be executed in a jail: build it with CGO_ENABLED=0")

// IsStatic returns an error if a program needs an interpreter to be executed (elf(5),
// PT_INTERP), which a jail may not have. It accepts a file that is no program: executing that
// fails later.
func IsStatic(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|hostfs.OpenFlags, 0)
	if err != nil {
		return nil // it may be executed and not read
	}
	defer f.Close()
	b := make([]byte, 4096) // the headers come first
	n, _ := f.Read(b)
	if b = b[:n]; n < 64 || string(b[:5]) != "\x7fELF\x02" {
		return nil
	}
	const interp = 3
	at, size, count := binary.NativeEndian.Uint64(b[32:]), uint64(binary.NativeEndian.Uint16(b[54:])), int(binary.NativeEndian.Uint16(b[56:]))
	for range count {
		if at+4 > uint64(len(b)) {
			return nil
		}
		if binary.NativeEndian.Uint32(b[at:]) == interp {
			return errDynamic
		}
		at += size
	}
	return nil
}
