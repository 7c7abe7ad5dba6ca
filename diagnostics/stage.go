package diagnostics

// Stage says how far a server had come when it failed.
type Stage string

const (
	StageExec Stage = "exec" // it was not started
	StageBoot Stage = "boot" // it ended, or stayed silent, before its first answer
	StageList Stage = "list" // it answers, but does not say what it offers
	StageCall Stage = "call" // a tool call failed, by an answer or by the end of the process
)

// Attribution says how much is known about the part that the jail played. The
// four are ordered; a diagnosis never claims more than its evidence holds.
type Attribution string

const (
	// Certain: it stands in a record of the jail.
	Certain Attribution = "certain"
	// Likely: the failure's words name something (a path, a host, a variable, a
	// program), and the policy refuses exactly that.
	Likely Attribution = "likely"
	// Possible: the text holds only a signature, such as EACCES, that a refusal
	// of the jail leaves, and so do other faults.
	Possible Attribution = "possible"
	// None: nothing points at the jail.
	None Attribution = "none"
)

// strength orders attributions; the zero Attribution is as weak as None.
func (sure Attribution) strength() int {
	switch sure {
	case Certain:
		return 3
	case Likely:
		return 2
	case Possible:
		return 1
	}
	return 0
}
