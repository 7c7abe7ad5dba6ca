package spec

// The keys of the limits that the jail itself can see to be reached.
const (
	KeyMemory    = "memory_mb"
	KeyProcesses = "processes"
)
