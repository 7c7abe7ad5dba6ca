// Package confine starts one program in a jail that is made from a
// policy.Profile, and tells which part of the profile holds and by what.
//
// # Use
//
//	func main() {
//		confine.ShimMain() // first thing: see below
//		...
//		process, err := confine.Launcher{}.Start(ctx, profile, confine.Stdio{In: r, Out: w})
//		...
//		exit, err := process.Wait()
//	}
//
// [Launcher.Start] returns once the program was executed, or once it is certain
// that it never will be: with a [*GapError] when this host cannot hold the profile,
// with a [*StartError] when a step failed. [Launcher.Compile] answers the same
// question without a start, as a [Plan] of [Enforcement] and [Gap]. The zero
// Launcher accepts no gap that the profile does not waive, and some gaps nobody can
// waive. The [Process] ends with the program, by Kill, or with the death of the
// calling program, and everything that it has left in the jail ends with it.
//
// # Who is in a jail
//
// A jail is built from inside, by a process in new namespaces that makes the system calls
// which Start writes into memory that both share (package stub): it builds the jail, gives
// up every capability, puts Landlock and the filter in force, tries what must fail by now,
// and executes the program. A task of it stays as the jail's PID 1, which reaps.
// [Launcher.Prepare] starts one ahead, while the caller still finds out what it is for.
//
// The supervisor decides and carries out the calls that make, change or remove names
// (supervise_linux.go), passes signals on and samples the memory. It is the running binary
// once more, under the name "mcp-jail: init", executed when it is needed first, in a PID
// namespace around the jail's; ShimMain recognises itself by that name and does not return.
// So every program that uses a Launcher calls it before anything else, or names another
// program that does in Launcher.Shim. In all other processes it returns at once. What
// [CanPoll] says is worth a look then: it is why Go's runtime may end the program.
//
// Without namespaces that program is also who builds the jail, and its init: the shim. It is
// built without cgo (CGO_ENABLED=0): with it, the shim's threads cannot all be made to give
// up their capabilities, and Start refuses.
//
// # What holds, and by what
//
//	files      a root made of nothing, with mounts for the entries of the profile
//	           alone; Landlock with the same entries
//	HOME       of a tool's process: an overlay of the server's, on a tmpfs
//	network    an empty network namespace with a loopback of its own; the filter
//	           knows UNIX, TCP and UDP sockets
//	ipc        pid, ipc, mount and network namespaces, a session keyring of its
//	           own; Landlock scopes from ABI 6
//	process    no capability, no_new_privs, no set-id, no further namespace; the
//	           filter, a list of calls that are refused with an errno
//	programs   Landlock's right to execute, where the profile lists programs
//	env        made anew; no descriptor but 0, 1 and 2
//	limits     rlimits; a cgroup where one can be had; pid_max of the PID namespace
//	           for root; a sampler for memory
//
// The compilers of all this are pure and run on every OS; what is written for one
// kernel only (the files with _linux in their names) decides nothing.
//
// # Limits
//
//   - Linux on amd64 and arm64, with Landlock and seccomp. Elsewhere Start refuses
//     whatever is waived. Where user namespaces are forbidden the plan is a bare one
//     (Plan.Bare): what only namespaces hold are gaps of the axes fs, process and
//     limits, and nothing starts until each is waived.
//   - Of the network there is TCP to granted hosts and ports, and lookups of their
//     names. Waived where that cannot be held, the program has the network of the host,
//     all of it.
//   - [Process.Denials] holds what the supervisor refused or saw refused, and what
//     reached a limit. Refused reads are not among it.
//   - A file that the host replaces by a rename sheds its mask; it stays unwritable.
//   - Sockets in a granted directory can be connected to before ABI 9. Files can be
//     reached by their other hard links.
//   - Memory can exceed its limit for as long as the interval of the sampler, from
//     ten milliseconds to a second. Processor time and disk space are not limited.
//   - A program that was listed as startable starts what it likes by itself, as far
//     as it interprets it. Arguments are not looked at.
//   - The kernel is shared: its holes are the jail's.
package confine
