package spec

// The policy keys of the limits that the jail itself sees exceeded.
const (
	KeyMemory    = "memory_mb"
	KeyProcesses = "processes"
)

// MaxProcs is GOMAXPROCS of the supervisor. Three of its threads may each
// occupy a processor of Go's scheduler while they wait briefly: the builder for the exec, and
// the receiver and a worker of mediated calls for the next request.
const MaxProcs = 3

// SupervisorThreads is how many threads the limits of processes allow for the supervisor.
const SupervisorThreads = 20

// UnknownUmask stands for the umask of a caller once any process of the jail has called
// umask(2). The supervisor then reads the caller's umask from /proc. For jail.Restrictor.Umask it
// stands for the umask with which the stub was started.
const UnknownUmask = -1
