package spec

// The keys of the limits that the jail itself can see to be reached.
const (
	KeyMemory    = "memory_mb"
	KeyProcesses = "processes"
)

// runsAtOnce is GOMAXPROCS of the shim. Three threads keep their place in Go's scheduler
// while they wait for a moment: the builder for the exec, the receiver and a worker for
// what comes next (see patience).
const MaxProcs = 3

// initThreads is what the shim's own threads take of RLIMIT_NPROC: see spareThreads.
const InitThreads = 19

// unknownUmask is that of a caller when any process of the jail may have changed its
// own: it has to be asked for, and a look into /proc is what costs most then.
const UnknownUmask = -1
