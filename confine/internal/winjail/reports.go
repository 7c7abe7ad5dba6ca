package winjail

// Report is what Windows has told about a job: a limit that its processes reached.
type Report int

// The reports. Windows does not promise to deliver any of them, so that none came says nothing.
const (
	ProcessesReached Report = iota + 1 // a process more than Input.Processes was not started
	MemoryReached                      // memory beyond Input.MemoryMB was not given
)

// Has reports whether the job of an input has the limit that a report is about. Windows also tells about
// the limits of jobs that a server makes inside its own.
func (in Input) Has(r Report) bool {
	return r == ProcessesReached && in.Processes > 0 || r == MemoryReached && in.MemoryMB > 0
}

// Messages of a job (JOB_OBJECT_MSG_*) that mean a limit.
const (
	messageActiveProcesses = 3
	messageJobMemory       = 10
)

// reportOf returns what a message of a job means. Most messages are about starts and ends of processes, and
// mean nothing here.
func reportOf(message uint32) (r Report, ok bool) {
	switch message {
	case messageActiveProcesses:
		return ProcessesReached, true
	case messageJobMemory:
		return MemoryReached, true
	}
	return 0, false
}
