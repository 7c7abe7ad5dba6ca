//go:build !linux

package probe

// Detect returns facts that support no jail.
func Detect() Facts { return Facts{Features: ProbeForStart()} }

func (*Facts) detectHostNS() {}
