package step

// stepCapabilities and others are named more than once.
const (
	StepCapabilities = "capabilities"
	StepDumps        = "core dumps"
	StepServer       = "server"
	StepSupervision  = "supervision"
	StepOwnProc      = "proc of the supervisor"
	StepKeepOne      = "capabilities of the supervisor"
)
