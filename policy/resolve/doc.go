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
//   - Paths are those of POSIX or of Windows; on other systems, Resolve returns [ErrPlatform].
//
// The parts of a resolution are types with their own data: writers (where servers may write),
// caseFolding and secrets. They share the entries and the warnings. What a project's file takes away is
// resolved as a policy of its own, and met with the first one ([policy.Meet]). Below the package, internal/masks hides or protects what lies in a grant,
// internal/places says what a path means on a host, internal/command finds a program and what it
// needs, and internal/git names what git runs or trusts.
package resolve
