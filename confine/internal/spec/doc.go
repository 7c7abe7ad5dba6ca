// Package spec defines what the launcher and the processes of a jail tell each other.
//
// [Spec] is a compiled plan: the launcher encodes it, and the init or the supervisor decodes it and
// carries it out. [Event] is a message in the other direction: the start, a refusal, a limit
// that was reached, the exit. [BrokerRequest] is what the init of a jail without namespaces
// asks the launcher about a socket. The package also numbers the descriptors that these
// processes inherit.
//
// # Limits
//
// The encoding has no compatibility between versions: both ends are the same binary, and a
// magic string refuses anything else. The package checks that a message is well formed. It
// does not check what a Spec says; package plan decides that.
package spec
