// Package resolve turns a policy into the profile of this host. [Resolve] asks the host for
// files, links, programs and variables, once, at the start of a server. It changes nothing
// on the host.
//
// The resolver adds entries in this order: the rules, the runtime baseline with the program
// and its interpreters, the private HOME, masks over sensitive paths, and protected names.
// A scan of the granted trees finds sensitive and protected names at any depth. At the end
// it computes the environment, the working directory and the links that a jail recreates.
//
// A server may have written to its workspace in an earlier session. Therefore nothing that a
// server could have written may widen what the next start grants, or choose what runs
// outside the jail. [policy.Reach] lists where servers may write; every check of a link, an
// interpreter, a secret's file or a secret's command asks it.
//
// # Limits
//
//   - Resolution is a snapshot: see package policy.
//   - The directory of the server's own package is searched for .env files, but not the
//     node_modules below it.
//   - Only POSIX paths are understood; on Windows, Resolve returns [ErrPlatform].
//
// The package has some 5,400 lines. All its parts add to the same set of entries and warn
// through the same resolver, so a further cut would export the resolver's fields. The files
// belong to four topics: command, interpreter and versionmanager find the program; sensitive,
// scan and unreadable mask files; protected, gitconfig and gitprotect protect names; writers,
// changeable, secret and secret_command decide which files to trust.
package resolve
