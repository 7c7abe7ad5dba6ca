// Package seccomp compiles, installs and serves the seccomp filters of a jail.
//
// # Two filters
//
// The first filter, from [Compile], is a deny list. It holds for init, supervisor and
// server, which inherits it from the init, and refuses calls with an errno. A call that no rule names is allowed. A call
// whose number is above [LastKnownCall] gets ENOSYS, as an older kernel would answer.
//
// The second filter, from [CompileListener], holds for the server alone. It passes the
// mediated calls to the supervisor by user notification (seccomp_unotify(2)), and refuses
// the calls that the supervisor itself needs. A refusal by either filter takes precedence
// over a notification (seccomp(2)).
//
// # Where to look
//
//	refused.go         which calls the first filter refuses, and with which errno
//	ioctl.go, prctl.go which commands and options pass; all others are refused
//	sockopt.go         which options of sockets pass, in the same way
//	refused_sockets.go which sockets may be made, and which calls on sockets are mediated
//	mediated.go        which calls go to the supervisor, and where their arguments are
//	guards.go          two small filters that protect the init, and a thread of the supervisor
//	numbers.go         the numbers of all calls that rules name
//	abi.go             constants of the kernel's interface
//	filter.go          from rules to a decision tree
//	assemble.go        from a decision tree to a BPF program
//	install_linux.go   seccomp(2)
//	listener_linux.go  the supervisor's side of user notification
//
// Compiling is pure and runs on every OS. Only the files with _linux make system calls.
//
// # Shape of a program
//
// A program tests the architecture, then searches the call number in a balanced binary
// tree, then runs the tests of that one call. A call that no rule names costs about ten
// instructions. No argument is read on its way, so the kernel (5.11 and later) caches it
// as always allowed and skips the program.
//
// # Limits
//
// A filter cannot follow pointers. A call whose arguments are in a struct (clone3,
// openat2) gets ENOSYS, and callers fall back to the form that a filter can judge. The
// tables cover amd64 and arm64, both little-endian. Every other architecture, and the x32
// calls of amd64, are refused with EPERM.
package seccomp
