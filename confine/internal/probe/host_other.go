//go:build !linux

package probe

// Detect returns facts that support no jail.
func Detect() Host { return Host{Features: ProbeForStart()} }

func (*Host) detectHostNS() {}
