// Package winjail starts a program on Windows in a job object, with a restricted token.
//
//   - The job ends all its processes when its last handle is closed, so also when mcp-jail is killed.
//     It bounds how many processes there are and how much memory they commit, and no process may
//     leave it. It also keeps them from the clipboard and the windows of other programs, where
//     Windows allows that: a job inside another cannot have these limits.
//   - The token has no privilege but the one that lets a program pass through directories, and the
//     group of administrators in it only serves to refuse.
//   - The process inherits three handles and no other, and has the environment that it is given.
//
// [Start] makes the process suspended and inside its job, and asks Windows whether it is there before the
// process runs. If a step fails, nothing of the program has run, and the error names the step. Whether a
// limit that Windows accepts also holds is shown by package winproof, on each machine and in each program
// that starts servers.
//
// # Limits
//
// Nothing here restricts files, hosts, or what the user's other programs offer. The package has not run on
// Windows yet. Under Wine it starts and ends programs, and Wine enforces neither limits nor tokens.
package winjail
