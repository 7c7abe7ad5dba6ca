package policy

// Axis is one of the independent questions that a policy answers. The names
// are the ones that --waive, `waive = [...]`, plan and doctor use.
type Axis string

const (
	AxisFs      Axis = "fs"      // which paths
	AxisNet     Axis = "net"     // which hosts
	AxisIPC     Axis = "ipc"     // which other processes can be talked to
	AxisProcess Axis = "process" // which programs start, and what a process may do to others
	AxisEnv     Axis = "env"     // which variables
	AxisLimits  Axis = "limits"  // how much
)

// Axes lists every axis in the order in which reports print them.
func Axes() []Axis {
	return []Axis{AxisFs, AxisNet, AxisIPC, AxisProcess, AxisEnv, AxisLimits}
}
