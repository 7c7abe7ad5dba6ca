package confine

import (
	"os"
	"runtime"
)

const selfPath = "/proc/self/exe"

// hostFacts asks the kernel what compile needs, and no more: it is part of every
// start.
func hostFacts() facts {
	f := facts{Features: probeForStart(), Supported: true, UID: os.Getuid(), PID: os.Getpid()}
	f.Machine, _ = archOf(runtime.GOARCH)
	for _, name := range deviceNodes {
		if _, err := os.Lstat("/dev/" + name); err == nil {
			f.Devices = append(f.Devices, "/dev/"+name)
		}
	}
	return f
}

// hostNetworkFiles are what a server with a waived network axis needs to
// resolve names as the host does.
func hostNetworkFiles() (resolv, hosts string) {
	r, _ := os.ReadFile("/etc/resolv.conf")
	h, _ := os.ReadFile("/etc/hosts")
	return string(r), string(h)
}
