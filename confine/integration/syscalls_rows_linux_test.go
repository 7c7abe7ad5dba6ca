package integration

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"golang.org/x/sys/unix"
)

// A seccompRow is one call with arguments that do no harm when it is not
// filtered, also to root.
type seccompRow struct {
	name   string
	call   string
	args   []uintptr
	want   syscall.Errno // 0: as without a filter
	strict bool          // under the strictest filter
	raw    func() syscall.Errno
}

const (
	badFD    = ^uintptr(0)
	garbage  = 1 << 40 // in a half that the kernel does not look at
	faulting = 1       // an address that faults
)

// seccompRows have each kind of test of a filter once, and each errno: that the kernel reads a filter as
// the tests of package seccomp do, which have every call and every argument. The attack matrix tries the
// calls themselves, in the jail and under the filter alone.
func seccompRows() (rows []seccompRow) {
	add := func(want syscall.Errno, call string, args ...uintptr) {
		rows = append(rows, seccompRow{name: fmt.Sprintf("%d %s", len(rows), call), call: call, args: args, want: want})
	}
	strict := func(want syscall.Errno, call string, args ...uintptr) {
		add(want, call, args...)
		rows[len(rows)-1].strict = true
	}
	self := uintptr(os.Getpid())
	// Without a test of an argument.
	add(unix.ENOSYS, "clone3", 0, 0)
	add(unix.EPERM, "mount")
	add(unix.EINVAL, "splice", badFD, 0, badFD, 0, 1, 0)
	strict(unix.EPERM, "truncate", faulting, 0)
	add(0, "truncate", faulting, 0)
	strict(unix.EOPNOTSUPP, "fgetxattr", badFD, faulting)
	// Bits of the lower half, and of both. CLONE_THREAD without CLONE_SIGHAND is EINVAL: nothing is started.
	add(unix.EPERM, "clone", unix.CLONE_NEWUSER|unix.CLONE_THREAD|garbage)
	add(0, "clone", unix.CLONE_THREAD|unix.CLONE_NEWNS<<32)
	add(unix.EPERM, "unshare", garbage)
	add(unix.ENOMEM, "mmap", 0, 0, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_HUGETLB, badFD)
	add(unix.EOPNOTSUPP, "sendto", badFD, 0, 0, unix.MSG_FASTOPEN)
	// Values, whatever is in the upper half.
	add(unix.EPERM, "prlimit64", self, unix.RLIMIT_NOFILE)
	add(0, "prlimit64", garbage, unix.RLIMIT_NOFILE)
	add(unix.ENOTTY, "ioctl", badFD, 0x50009401|garbage)
	add(0, "ioctl", badFD, unix.TCGETS|garbage)
	// Two arguments and three.
	add(unix.EPERM, "openat", badFD, 0, unix.O_TMPFILE|unix.O_RDWR|garbage, 0o4755|garbage)
	add(0, "openat", badFD, 0, unix.O_CREAT, 0o644)
	add(unix.ENOPROTOOPT, "setsockopt", badFD, unix.SOL_SOCKET|garbage, unix.SO_ATTACH_FILTER, 0, 0)
	add(0, "setsockopt", badFD, unix.SOL_SOCKET|garbage, unix.SO_KEEPALIVE|garbage, 0, 0)
	add(unix.EAFNOSUPPORT, "socket", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)
	add(unix.EPROTONOSUPPORT, "socket", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
	add(0, "socket", unix.AF_UNIX|garbage, unix.SOCK_DGRAM, 0)
	strict(unix.EAFNOSUPPORT, "socket", unix.AF_UNIX, unix.SOCK_STREAM, 0)
	return append(rows, abiRows()...)
}

// abiRows are the same calls by other ABIs, and numbers that no call has.
func abiRows() (rows []seccompRow) {
	if runtime.GOARCH == "amd64" {
		rows = append(rows,
			seccompRow{name: "x32 getpid", want: unix.EPERM, raw: func() syscall.Errno { return attacker.RawCall(0x40000000 | 39) }},
			seccompRow{name: "x32 execve", want: unix.EPERM, raw: func() syscall.Errno { return attacker.RawCall(0x40000000 | 520) }},
		)
		if !attacker.LacksI386() {
			rows = append(rows, seccompRow{name: "i386 mount", want: unix.EPERM, raw: func() syscall.Errno { return attacker.I386ABI("mount", [6]uintptr{}) }})
		}
	}
	return append(rows, seccompRow{name: "beyond the table", want: unix.ENOSYS, raw: func() syscall.Errno { return attacker.RawCall(seccomp.LastKnownCall + 1) }})
}
