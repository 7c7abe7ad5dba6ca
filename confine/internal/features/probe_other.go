//go:build !linux && !darwin

package features

import (
	"runtime"
)

// Probe answers no to everything: there are no jails on this system.
func Probe() Features {
	f := ProbeForStart()
	none := Unavailable("confinement on "+runtime.GOOS+" is not implemented", "run the server on Linux 5.13 or newer")
	for _, p := range []*Feature{
		&f.Landlock, &f.Seccomp, &f.SeccompNotify, &f.SeccompTSync, &f.UserNamespaces, &f.MountAPI, &f.FreshProc, &f.PtraceScope, &f.PidMax, &f.Sockets, &f.Cgroup, &f.Overlay,
	} {
		*p = none
	}
	return f
}

// UserNamespaces knows nothing here.
func UserNamespaces() Feature { return Feature{} }

// ProbeForStart names the system, and answers nothing else.
func ProbeForStart() Features { return Features{OS: runtime.GOOS, Arch: runtime.GOARCH} }
