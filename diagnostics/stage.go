package diagnostics

// Stage says how far a server had come when it failed.
type Stage string

const (
	StageExec Stage = "exec" // the process could not be started
	StageBoot Stage = "boot" // it ended, or stayed silent, before its first answer
	StageList Stage = "list" // it answers, but a discovery call fails
	StageCall Stage = "call" // a tool call failed, or the process ended during one
)

// Attribution says how much is known about the part that the jail played. The
// four are ordered; a diagnosis never claims more than its evidence holds.
type Attribution string

const (
	// Certain: the jail itself recorded the refusal.
	Certain Attribution = "certain"
	// Likely: text of the failure names a path, host, variable or program that
	// the policy does not grant.
	Likely Attribution = "likely"
	// Possible: the text holds only a signature, such as EACCES, that a refusal
	// of the jail leaves, and so do other faults.
	Possible Attribution = "possible"
	// None: nothing points at the jail.
	None Attribution = "none"
)

// strength orders attributions; the zero Attribution is as weak as None.
func (a Attribution) strength() int {
	switch a {
	case Certain:
		return 3
	case Likely:
		return 2
	case Possible:
		return 1
	}
	return 0
}
