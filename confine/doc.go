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
// # The init
//
// A jail with namespaces is built from outside. Start makes a process in new namespaces
// that executes a program of a few hundred bytes (package stub), which carries out the
// system calls that it is told, and decides nothing. By means of it the launcher builds the
// jail; a child of it gives up what the server is not to have, tries what must fail by
// now, and executes the program. The stub stays as the jail's PID 1. The launcher decides
// about the calls that make, change or remove names, which tasks of the stub carry out
// under the server's own rules (supervise_linux.go), reaps, and samples the memory.
// [Launcher.Prepare] makes such a process ahead, while the caller still finds out what it
// is for.
//
// Without namespaces nothing ends with its PID 1, and somebody has to outlive the launcher
// for a moment: there Start executes the running binary once more, as the shim, under the
// name "mcp-jail: init". ShimMain recognises itself by that name and does not return. So
// every program that uses a Launcher calls it before anything else, or names another
// program that does in Launcher.Shim. In all other processes it returns at once. That
// program is built without cgo (CGO_ENABLED=0): with it, the shim's threads cannot all be
// made to give up their capabilities, and Start refuses. The shim is told over a socket
// what to do, and supervises the server itself.
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
