package sandboxexec

// The steps of a start under sandbox-exec that can fail, besides those that every start has.
const (
	StepApply       = "apply"        // sandbox-exec applies the profile
	StepReady       = "ready"        // the program inside gets ready
	StepNotEnforced = "not enforced" // the profile must refuse the canaries
	StepPrivate     = "private directory"
)
