// Package ownfile replaces a file of the user that other programs read and write at the same
// time: the configuration of an MCP client. [Read] reads it, and
// [File.Replace] puts other content in its place.
//
// # What holds
//
//   - The file is a regular file of at most 5 MB ([ReadLarge]: 64 MB), and the user's. A symbolic link is
//     followed if it belongs to the user or to root; the file that it leads to is replaced, and the
//     link stays.
//   - Replace does nothing if the file is not what Read saw: the same inode, size, time, mode
//     and content, through the same links.
//   - The new content is written to a file beside the old one, with its mode and group, and
//     renamed. A reader sees the old content or the new one. So does the next reader after a
//     SIGKILL or a loss of power; at worst a file ".NAME.mcp-jail-…" stays behind, which the
//     next Replace removes.
//   - Of two Replaces at the same time, in one process or two, one is refused.
//
// # Limits
//
//   - Another program may write the file between the last comparison and the rename. Its content
//     is lost then.
//   - Extended attributes are not copied, nor are access control lists on macOS.
//   - A file that is read-only, or has several hard links or a POSIX access list, is refused.
//   - On Windows, owners, groups and hard links are not checked, the directory gives the new
//     file its access control list, and only the comparison keeps two Replaces apart.
package ownfile
