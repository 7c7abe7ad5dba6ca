// Package jailed makes commands of package os/exec that run in a jail.
//
//	func main() {
//		jailed.Init() // first thing in main
//		cmd := jailed.Command(ctx, jailed.Policy{Read: []string{"."}}, "git", "log", "--oneline")
//		out, err := cmd.Output()
//		...
//	}
//
// A [Policy] has the flags of mcp-jail run, with the same meaning and the same defaults: without
// Read, Write, Execute and Net the program reads and writes its workspace, and has no network.
//
// The command is an ordinary [exec.Cmd]: its Dir is the workspace, its Env is what the policy
// picks variables from, and its Stdin, Stdout and Stderr are those of the program. Its process is
// the running program, executed again: [Init] recognises that, builds the jail, passes signals
// on, and ends as the program ended. So it has its exit status. If the process is killed, or
// the program that made the command dies, every process of the jail is killed.
//
// Which files are the user's is decided by the program that calls Command: its home directory, its
// PATH, and its XDG directories and the like say what "~" means, what is sensitive or protected, and
// where the private HOME is. HOME and its kind in the command's Env have no say in that. The program
// gets its HOME from the policy, and the others from Env where the policy names them.
//
// # Errors
//
// If the policy is wrong in itself, Start returns an error. An error that depends on the host is
// written to the command's Stderr. The exit status is then 2 if a path or a host of the policy is
// wrong, 3 if this host cannot hold the policy, and 1 if the program cannot be started.
//
// Warnings about the policy are written to the command's Stderr too.
//
// # Limits
//
//   - The policy is all there is: no configuration file is read, so [defaults] and the user's own
//     sensitive_paths do not hold.
//   - The three statuses cannot be told from those of the program itself.
//   - SIGTERM, SIGINT, SIGHUP and SIGQUIT are passed on, and no other signal.
//   - ExtraFiles do not reach the program.
//   - The program must be built without cgo: see package confine.
//   - On macOS, Waive needs "macos", and the self-test of mcp-jail doctor must have passed. This is not
//     yet run on a Mac.
//   - Each command costs a further process of the running program. A [confine.Launcher] needs no
//     such process, and reports the refusals.
//   - The arguments of the command and the policy are in the process's command line.
package jailed
