// Package confine starts one program in a jail that is made from a policy.Profile. It
// reports which part of the profile holds, and by which mechanism.
//
// # Use
//
//	func main() {
//		confine.RunSupervisor() // first thing: see below
//		...
//		process, err := confine.Launcher{}.Start(ctx, profile, confine.Stdio{In: r, Out: w})
//		...
//		exit, err := process.Wait()
//	}
//
// [Launcher.Start] returns once the program was executed, or once it is certain that it never
// will be. The error is a [*GapError] if this host cannot hold the profile, and a
// [*StartError] if a step failed. [Launcher.Compile] tells without a start what this host can
// enforce: it returns a [Plan], which lists each [Enforcement] and each [Gap]. The zero Launcher
// accepts only the gaps that the profile waives. Fatal gaps cannot be waived. The [Process] ends
// with the program, by Kill, or when the calling program dies. All processes of the jail end
// with it.
//
// # Processes of a jail
//
// A small program without Go's runtime, the stub (package stub), builds a jail. It starts in
// new namespaces, and shares memory with the launcher. Start writes system calls into that
// memory, and the stub makes them. It has three tasks. The outer process is the launcher's child:
// it forks the init, makes the network, and executes the supervisor in the end. The init is PID 1
// of the jail: it makes the root and the rulesets, gives up every capability, forks the server,
// and stays to reap. The server enforces Landlock and the filter, runs the self-test, and
// executes the program. [Launcher.Prepare] starts the outer process and the init ahead, while the
// caller still resolves the profile.
//
// The supervisor decides the mediated calls that make, change or remove names or open files for
// writing. It also passes signals on and samples the memory. It is the running binary, executed
// again under the name "mcp-jail: supervisor" when it is first needed, in a PID namespace around
// the jail's.
// [RunSupervisor] recognises that name and then does not return; in every other process it
// returns at once. So a program that uses a Launcher calls it before anything else, or names
// another program that does in Launcher.SupervisorPath. [CanPoll] reports in advance whether
// Go's runtime would end such a program.
//
// In a jail with host namespaces the supervisor also builds the jail, starts the server and
// reaps. There is no init. The supervisor must be built without cgo (CGO_ENABLED=0): with cgo,
// not all of its threads can be made to give up their capabilities, and Start refuses.
//
// # When the supervisor dies
//
// The kernel then kills every process of the jail: no process of a server runs on without its
// supervisor. The [Exit] is that of SIGKILL, and Exit.Why tells what ended the jail. In a jail
// with host namespaces only the server's first process is killed with the supervisor; processes
// that it detached survive, under the same Landlock rules and filter, and the plan has that as a
// [Gap]. The file supervisor_death_linux.go describes all cases.
//
// # What holds, and by what
//
//	files      a root built from nothing, with mounts for the entries of the profile
//	           only; Landlock with the same entries
//	HOME       for a tool's process: an overlay of the server's HOME, on a tmpfs
//	network    an empty network namespace with its own loopback; the filter lets
//	           UNIX, TCP and UDP sockets be made
//	ipc        pid, ipc, mount and network namespaces, a new session keyring;
//	           Landlock scopes from ABI 6
//	process    no capability, no_new_privs, no set-id, no further namespace; the
//	           filter refuses a list of calls with an errno
//	programs   Landlock's right to execute, if the profile lists programs
//	env        built anew; no descriptor but 0, 1 and 2
//	limits     rlimits; a cgroup if one can be had; pid_max of the PID namespace
//	           for root; a sampler for memory
//
// The compilers of all this are pure and run on every OS. The files with _linux in their names
// carry plans out and decide nothing.
//
// # Limits
//
//   - Linux on amd64 and arm64, with Landlock and seccomp. On other systems Start refuses,
//     also if every gap is waived. If user namespaces are forbidden, the plan is one with host
//     namespaces (Plan.HostNamespaces). It has a gap for each promise that only namespaces can
//     keep, on the axes fs, process and limits, and nothing starts until each gap is waived.
//   - The network is TCP to granted hosts and ports, and lookups of their names. If that
//     cannot be held and is waived, the program has the whole network of the host.
//   - [Process.Denials] holds the calls that the supervisor refused or saw refused, the
//     connections and names that the gateway refused, and the limits that were reached. It has
//     a refused open only if the filter passes that open to the supervisor. It passes every
//     open if a link in a grant leads to a sensitive path (policy.Profile.LinksAstray) or the
//     launcher asks for it ([Launcher.CertainReads]), and otherwise only opens that write or create.
//     Where the launcher asks, it also has what stat, access, readlink and chdir do not find.
//   - A file that the host replaces by a rename loses its mask. It stays unwritable.
//   - Before ABI 9, sockets in a granted directory can be connected to. Files can be reached
//     by their other hard links.
//   - Memory can exceed its limit for one interval of the sampler, from ten milliseconds to
//     a second. Processor time and disk space are not limited.
//   - A program that the profile lists may interpret others as it likes. Its arguments are
//     checked only if a command rule has args or envs.
//   - The kernel is shared: a hole in the kernel is a hole in the jail.
package confine
