// Package landlock compiles a profile's entries into a Landlock ruleset and creates it.
//
// [Compile] is pure and runs on every system. It says for exactly one ABI which accesses are
// handled, which rule each entry gets, and what does not hold: there is no best effort. Every
// right that the ABI lacks is in compiled.Unhandled, and the caller turns it into a gap.
// [Create] makes the ruleset through a stub.Task. Another task that shares its table of
// descriptors may enforce the ruleset.
//
// The same entries are mounts as well, in package jail. Landlock adds rights along a path
// and takes none away. So the rule of an entry is exactly its rights, an entry without rights
// has no rule, and a mount must hold what a narrower entry takes away. Where there are no
// mounts, Landlock does not hold the entries in compiled.Carved.
//
// The rights, structures and system calls are go-landlock's.
package landlock
