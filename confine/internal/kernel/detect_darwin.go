package kernel

import (
	"crypto/rand"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Detect asks the host what compiling a plan needs. It starts nothing. The caller adds the Proof.
func Detect() Facts {
	f := Facts{Features: Probe(), Supported: true, UID: os.Getuid(), PID: os.Getpid()}
	f.Seatbelt = f.Features.Seatbelt
	var random [4]byte
	rand.Read(random[:])
	f.TempDir = seatbeltTempDir(f.UID, random)
	return f
}

// Probe asks the host for the features of macOS.
func Probe() Features {
	f := probeForStart()
	f.Kernel, _ = unix.Sysctl("kern.osrelease")
	f.Product, _ = unix.Sysctl("kern.osproductversion")
	f.Build, _ = unix.Sysctl("kern.osversion")
	info, err := os.Lstat(sandboxExec)
	if err != nil {
		f.Seatbelt = seatbeltFeature(0, 0, err)
		return f
	}
	owner := -1
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(st.Uid)
	}
	f.Seatbelt = seatbeltFeature(info.Mode(), owner, nil)
	return f
}

// probeForStart names the system, and answers nothing else.
func probeForStart() Features { return Features{OS: runtime.GOOS, Arch: runtime.GOARCH} }

// UserNamespaces knows nothing here.
func UserNamespaces() Feature { return Feature{} }

func (*Facts) detectHostNS() {}
