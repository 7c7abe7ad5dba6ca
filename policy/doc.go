// Package policy says what one MCP server may touch, and nothing about how
// that is enforced.
//
// The way through it is one-directional:
//
//	files -> Decode/Load -> Config -> (Config).Policy or InPlace -> Policy -> Resolve(Host) -> Profile
//
// Everything up to [Policy] is pure: decoding, merging, validating and matching
// never read the disk (only [Load] and [TrustStore] read the configuration
// files themselves). [Resolve] asks the host once, through the functions of a
// [Host], and returns an immutable [Profile] of absolute, canonical paths. What
// is enforced, shown by plan, told to the server and named in a diagnosis is
// that one profile.
//
// # Reading a profile
//
// Profile.Entries is flat: rules, the runtime baseline, the private HOME, the
// masks over sensitive paths and the protected names are all entries, and the
// entry with the longest matching path decides in full. Creating and deleting a
// name is decided by the directory that holds it, everything else by the entry
// of the path itself; [Profile.Allows] spells that out.
//
// # Limits
//
//   - Resolution is a snapshot. A sensitive file that the user creates inside a
//     granted tree while the server runs is not masked until the next start.
//   - Sensitive and protected names are matched byte for byte; on filesystems
//     that fold case a name in other case is another name to this package.
//   - Hard links inside a granted tree reach their inode.
//   - The package directory of the server itself, when it comes from the
//     runtime baseline, is searched for .env files except below node_modules.
//   - Resolve understands POSIX paths only; on Windows it refuses.
package policy
