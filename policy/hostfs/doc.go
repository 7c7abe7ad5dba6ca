// Package hostfs is the only way by which facts about this machine reach a policy. A [Host]
// holds the functions and values that resolution may use; [LocalHost] is this machine, and
// tests use a map. [LinkResolver] follows symbolic links, [LinkResolver.CheckPrivate] checks owners and
// modes, and a [Recording] tells whether earlier answers of a host still hold.
//
// # Limits
//
//   - Paths are POSIX paths. On Windows, owners and modes are not checked.
//   - Answers are a snapshot. Callers that open a file later compare its FileID.
//   - On Linux, directories are read by getdents64(2) directly: the search of a workspace is the
//     longest part of a start, and package os would ask for more than the search needs.
package hostfs
