package confine

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const selfPath = "/proc/self/exe"

// hostFacts asks the kernel what compile needs, and no more: it is part of every
// start. What doctor shows beyond that is asked by Probe.
func hostFacts() facts {
	f := facts{Supported: true, System: "linux", UID: os.Getuid(), PID: os.Getpid()}
	f.Arch, f.ArchOK = archOf(runtime.GOARCH)
	abi, _ := landlockVersion()
	f.LandlockABI = effectiveABI(abi, landlockErrata())
	if _, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err == nil {
		f.Seccomp = true
	}
	f.FreshProc = freshProc()
	f.PidMaxOwn = pidMaxOwn()
	for _, name := range deviceNodes {
		if _, err := os.Lstat("/dev/" + name); err == nil {
			f.Devices = append(f.Devices, "/dev/"+name)
		}
	}
	return f
}

// freshProc predicts whether the kernel lets a user namespace mount a proc of
// its own: not where a part of the visible one is covered (mount_namespaces(7),
// restrictions). The mount point of binfmt_misc is empty for good and does not
// count.
func freshProc() bool {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) > 4 && bytes.HasPrefix(f[4], []byte("/proc/")) && string(f[4]) != "/proc/sys/fs/binfmt_misc" {
			return false
		}
	}
	return true
}

// pidMaxOwn reports whether a PID namespace has a pid_max of its own. On older
// kernels the same file is the host's, so only the version can be asked.
func pidMaxOwn() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	major, rest, _ := strings.Cut(unix.ByteSliceToString(u.Release[:]), ".")
	minor := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	a, _ := strconv.Atoi(major)
	b, _ := strconv.Atoi(minor)
	return a > 6 || a == 6 && b >= 14
}

// hostNetworkFiles are what a server with a waived network axis needs to
// resolve names as the host does.
func hostNetworkFiles() (resolv, hosts string) {
	r, _ := os.ReadFile("/etc/resolv.conf")
	h, _ := os.ReadFile("/etc/hosts")
	return string(r), string(h)
}
