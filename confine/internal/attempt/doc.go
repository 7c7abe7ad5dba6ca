// Package attempt makes single calls of the system that a jail must refuse or let through, and says
// what came of them. The self-test of macOS makes them outside a jail and inside it ([Serve]).
package attempt
