// Package policy defines what one MCP server may touch. It contains the rules, the resolved
// profile and every decision about them. It does not read the disk and it enforces nothing:
// it imports neither os nor syscall.
//
// Data flows in one direction:
//
//	files → config.Load → Config → Policy → resolve.Resolve(hostfs.Host) → Profile
//
// A [Policy] is merged and validated, but knows nothing of the host. Package policy/config
// makes it from TOML files or from the command line. Package policy/resolve asks the host
// once, through the functions of a hostfs.Host, and returns an immutable [Profile] of
// canonical paths. All later stages read this one profile: enforcement, plan, the statement
// for the server, and diagnoses.
//
// # Reading a profile
//
// Profile.Entries is flat: rules, the runtime baseline, the private HOME, masks over
// sensitive paths and protected names are all entries. The entry with the longest matching
// path decides in full. The directory that holds a name decides whether the name may be
// created or deleted; the entry of the path decides everything else. [Profile.Allows] does
// this evaluation, and [Profile.Mediate] decides what mounts and Landlock cannot enforce.
//
// # Limits
//
//   - A profile is a snapshot. If the user creates a sensitive file inside a granted tree
//     while the server runs, the file is visible until the next start.
//   - Sensitive names are compared byte for byte. Protected names are compared as
//     case-insensitive filesystems compare them.
//   - A hard link inside a granted tree reaches its inode, wherever its other names are.
package policy
