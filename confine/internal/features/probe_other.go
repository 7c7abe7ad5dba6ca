//go:build !linux && !darwin && !windows

package features

import "runtime"

// Probe names the system, and answers nothing else: there are no jails here.
func Probe() Features { return ProbeForStart() }

// UserNamespaces knows nothing here.
func UserNamespaces() Feature { return Feature{} }

// ProbeForStart names the system, and answers nothing else.
func ProbeForStart() Features { return Features{OS: runtime.GOOS, Arch: runtime.GOARCH} }
