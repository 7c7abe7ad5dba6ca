// Package spec defines what the launcher and the processes of a jail tell each other.
//
// [Spec] is a compiled plan. The launcher builds a jail with namespaces by it, through a stub
// (package jail), and encodes it for the supervisor process. That process decodes it, and mediates
// calls and samples limits by it. In a jail with host namespaces it also builds the jail by it.
// [Event] is a message in the other direction: the start, a refusal, a limit that was reached, the
// exit. [BrokerRequest] is a message of the supervisor of a jail with host namespaces about a
// socket of the server. The package also numbers the descriptors that these processes inherit.
//
// # Limits
//
// The encoding has no compatibility between versions: both ends are the same binary, and a
// magic string refuses anything else. The package checks that a message is well formed. It
// does not check what a Spec says; package plan decides that.
package spec
