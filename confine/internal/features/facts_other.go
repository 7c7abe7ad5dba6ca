//go:build !linux && !darwin && !windows

package features

// Detect returns facts that support no jail.
func Detect() Facts { return Facts{Features: ProbeForStart()} }

func (*Facts) detectHostNS() {}
