package spec

// The supervisor of a jail with namespaces is executed when it is needed (see
// jailBuilder.relieveOuter), as the first process of the outer PID namespace: with it ends
// the jail. The server cannot see it.

// Descriptors of a supervisor. orderFD is for signals, statusFD for its order as well.
const (
	ListenerFD  = StatusFD + 1 + iota // of the server's filter, where it has one
	MakingFD                          // the ruleset of its workers
	ServerFD                          // of the server, for signals
	ProcFD                            // a proc that shows it and the jail, its working directory
	SuperviseFD                       // what it was executed from
)
