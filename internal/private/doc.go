// Package private is the one door to the files that mcp-jail keeps for itself: what lies below its
// configuration, state, cache and data directories ([hostfs.StandardDirs]).
//
//   - [Open] opens a directory there, and [Make] creates it first if it is missing. The methods of
//     [Dir] open, replace, rename, lock and remove what is in it.
//   - [Follow] and [MakeFollow] are for a file that may be a symbolic link of the user, as a
//     configuration may.
//   - [ReadFile] reads one file, and [ReadFollowed] one that Follow finds.
//
// A directory is opened only if the user and root alone control the whole way to it: nobody else
// owns or may write a component, from / on (the rules are those of package hostfs). Links of the
// user or of root may lead to a directory that the caller names as the base. Below the base none
// is followed, and files have the same owners. The error is a [*hostfs.OwnerError].
//
// What was checked is what is used. The directory that was opened has the device and inode that
// were seen on the way, and all names are looked up in it by openat(2). If the directory is renamed
// or replaced afterwards, work goes on in the one that was checked. A file that was opened is the
// one that was looked at.
//
// # Limits
//
//   - On Windows, a directory belongs to the user, to administrators or to the system. Access control
//     lists are not read, which can let others write there.
//   - On Windows, a lock is that of a file in the directory. The user's other programs can remove it.
//   - POSIX access control lists are not read. Where one lets others write, the mask that it needs
//     for that shows in the mode, as the rights of the group. The lists of macOS have no mask, so what
//     they grant to others is not seen.
//   - The user's own programs can change these files. The jail hides them from servers.
package private
