//go:build !linux

package probe

func Detect() Host { return Host{Features: ProbeForStart()} }

func (*Host) detectHostNS() {}
