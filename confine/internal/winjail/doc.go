// Package winjail starts a program on Windows in a job object, with a restricted token at low integrity.
//
//   - The job ends all its processes when its last handle is closed, so also when mcp-jail is killed.
//     It bounds how many processes there are and how much memory they commit. No process may leave it.
//   - The token has no privilege but the one that lets a program pass through directories, and the
//     group of administrators in it only serves to refuse. At low integrity the program changes only
//     files that are labelled for that, as [LetWrite] labels a directory.
//   - The process inherits its three standard files and no other handle.
//
// [Start] makes the process suspended, and lets it run when it is in its job. If a step fails, nothing of
// the program has run, and the error names the step.
//
// # Limits
//
// Nothing here restricts which files are read, which hosts are reached, or what the user's other programs
// offer. The package has not run on Windows yet. Under Wine it starts and ends programs, and Wine enforces
// neither limits nor tokens.
package winjail
