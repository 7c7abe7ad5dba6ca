package report

// Stage tells how far a server had come when it failed.
type Stage string

const (
	StageExec    Stage = "exec" // the server was not started
	StageStartup Stage = "boot" // the server ended or timed out before its first response
	StageList    Stage = "list" // the server responds, but its tools could not be listed
	StageCall    Stage = "call" // a tool call failed, by a response or by the end of the process
)

// Attribution tells how certain it is that the jail caused the failure. The four values
// are ordered. A diagnosis never claims more than its evidence shows.
type Attribution string

const (
	// Certain: the jail recorded the refusal, or the failure is one of mcp-jail itself.
	Certain Attribution = "certain"
	// Likely: the text of the failure names something (a path, a host, a variable, a
	// program), and the policy refuses exactly that.
	Likely Attribution = "likely"
	// Possible: the text contains only a signature, such as EACCES, which refusals of the
	// jail cause and other faults as well.
	Possible Attribution = "possible"
	// None: nothing points to the jail.
	None Attribution = "none"
)
