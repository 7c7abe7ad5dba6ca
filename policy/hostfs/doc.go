// Package hostfs is the only way by which facts about this machine reach a policy. A [Host]
// holds the functions and values that resolution may use; [LocalHost] is this machine, and
// tests use a map. [LinkResolver] follows symbolic links, [LinkResolver.CheckPrivate] checks owners and
// modes, and a [Recording] tells whether earlier answers of a host still hold.
//
// # Windows
//
// The files winpath*.go know the paths and programs of Windows, on every system.
//
// A path is a drive and the names below it. Every other form is refused by its name: another machine's
// paths (UNC), paths that skip the rules of names (\\?\), short names, streams, devices, and names that
// Windows changes when it opens them. Each is a second name of something, by which a rule or a check about
// the first one could be passed by.
//
// A program is a file .exe or .com. Batch files and scripts of PowerShell are never started: cmd.exe reads
// their arguments as commands.
//
// # Limits
//
//   - Paths are POSIX paths. On Windows, owners and modes are not checked.
//   - Answers are a snapshot. Callers that open a file later compare its FileID.
//   - On Linux, directories are read by getdents64(2) directly: the search of a workspace is the
//     longest part of a start, and package os would ask for more than the search needs.
package hostfs
