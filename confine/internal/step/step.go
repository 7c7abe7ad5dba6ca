// Package step holds the errors of building a jail, and the names of its steps.
//
// A step is a part of the start that can fail by itself: "mounts", "landlock", "exec". The
// names are in error messages and in records. This package holds the
// names that more than one package uses.
package step

// Names of steps.
const (
	// Exec starts the program. It is the only step whose failure is the program's.
	Exec = "exec"

	Namespaces             = "namespaces"
	PrivateMounts          = "private mounts"
	OwnFilesystems         = "own filesystems"
	Loopback               = "loopback"
	Capabilities           = "capabilities"
	CoreDumps              = "core dumps"
	Network                = "network"
	Overlays               = "copies"
	Spec                   = "spec"
	Server                 = "server"
	Supervision            = "supervision"
	SupervisorProc         = "proc of the supervisor"
	SupervisorCapabilities = "capabilities of the supervisor"
)
