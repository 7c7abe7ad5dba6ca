// Package show writes text for its receivers. Each receiver acts on some characters, and the text
// may come from a server, a package, a registry or a cloned repository. There is one function for
// each receiver, and none of them trusts the text:
//
//   - [Line] writes one line for a terminal, and [Screen] is the last step before a terminal.
//     [Named] writes a line in which each hidden character has its number, for comparisons.
//   - [Rows] writes a server's words behind a bar.
//   - [Typed] proposes a line for a shell. [Spelled] shows a command line that is not for typing.
//   - [TOML], [Key] and [List] write TOML, [JSON] writes JSON, and [Item] writes a word of the list
//     in a client's file. [Expands] tells which words a client may replace in that list.
//   - [Candidate] writes a proposal for a shell's completion.
//
// A text that cannot be written so that it arrives as it was meant is not proposed: [Word], [Typed]
// and [Candidate] say so.
//
// Nothing here decides what is said, and nothing here prints.
//
// # Differences and TOML
//
// [Diff] writes the difference of two texts in the unified format.
//
// It looks for the shortest difference. rogpeppe/go-internal/diff looks for unique lines, and shows
// an unchanged line that is not unique, between two changes, as removed and added: in a client's
// file, that may be a secret which two servers share.
//
// [Parse] reads TOML documents into trees whose values have their lines and places. The
// decoder of a library keeps neither, and each problem of a file is reported with its line.
//
// A document with faults has a tree too, without what is faulty. The caller phrases the faults.
// A document is never written anew: the package spells the strings
// and keys of lines to add.
package show
