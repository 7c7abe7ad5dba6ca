// Package jail makes the system calls that turn a new process into a jailed server.
//
// There are two kinds of jails. A [Builder] builds a jail with namespaces from the
// launcher, through the tasks of a stub (package stub). No Go program runs in the jail
// while it is built. A jail in the host's namespaces has no Builder: the supervisor process
// restricts itself, in the order of supervisor.Process.Steps. A [Restrictor] has the steps
// that both kinds share.
//
// # Steps
//
// A [Step] has a name, which a StartError shows, and a task that carries it out. The four
// tasks of a Builder run side by side:
//
//	Outer   the first process of the outer PID namespace. It makes the network, and
//	        becomes the supervisor
//	Init    the first process of the inner PID namespace. It makes the mounts and the
//	        Landlock rulesets, and stays as the jail's init, which reaps
//	Parent  forks Server, and waits for its end. So the server is not the child of process 1
//	Server  the process that restricts itself and executes the server
//
// [Builder.FirstSteps] does not depend on the spec, so a jail can be prepared before its
// spec is known. [Builder.Build] runs MountSteps and RestrictSteps. [Builder.StartServer]
// executes the server, and the supervisor when it is needed, or after a short delay.
// [Builder.Reap] waits for the end of the server.
//
// The self-test runs when the server's process is restricted, but for the second filter. It tries
// calls that must fail, and reads back what was set. A jail that fails the self-test is not used.
//
// # Files
//
//	builder_linux.go   the steps, their order, and how they run
//	outer_linux.go     the steps of Outer
//	open_linux.go      clones of granted objects, and the filesystems of the jail's own
//	rootfs_linux.go    the root filesystem, with mounts_linux.go, files_linux.go, proc_linux.go, copies_linux.go
//	network_linux.go   addresses, routes and sockets of the jail's network
//	restrict_linux.go  keyring, limits, capabilities, Landlock, checks of mounts
//	selftest_linux.go  the self-test
//	start_linux.go     from the built jail to the running server, and its end
//
// # Limits
//
// The package decides nothing: it carries out the spec that package plan compiles. It runs on
// Linux only, and needs the mount API of Linux 5.12 (mount_setattr(2)).
package jail
