package winjail

// Input says how a process is confined.
type Input struct {
	// Processes is how many processes there are at the same time, MemoryMB how much memory all of them
	// commit together. 0 is no limit.
	Processes, MemoryMB int
	// NoChildren lets the process start no other one. Windows asks for that besides the job's limit, and
	// refuses before a job is asked, so that the refusal is no [Report].
	NoChildren bool
	// Desktop lets the processes use the clipboard, the windows of other programs and the settings of
	// the desktop.
	Desktop bool
	// Home and Temp are directories that Start makes. Temp is removed when the process has ended.
	Home, Temp string
}

// The steps of a start, by which an error names what failed.
const (
	StepJob         = "job object"
	StepLimits      = "limits of the job object"
	StepDesktop     = "limits of the desktop"
	StepReports     = "reports of the job object"
	StepToken       = "restricted token"
	StepHandles     = "list of handles"
	StepAttributes  = "attributes of the process"
	StepChildren    = "refusal of child processes"
	StepEnvironment = "environment"
	StepCommandLine = "command line"
	StepDirectory   = "create directory"
	StepResume      = "resume"
	StepMembership  = "membership of the job"
)
