//go:build !linux && !darwin && !windows

package kernel

import (
	"runtime"
)

// Probe names the system, and answers nothing else: there are no jails here.
func Probe() Features { return probeForStart() }

// UserNamespaces knows nothing here.
func UserNamespaces() Feature { return Feature{} }

// probeForStart names the system, and answers nothing else.
func probeForStart() Features { return Features{OS: runtime.GOOS, Arch: runtime.GOARCH} }

// Detect returns facts that support no jail.
func Detect() Facts { return Facts{Features: probeForStart()} }

func (*Facts) detectHostNS() {}
