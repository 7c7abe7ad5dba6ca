// Package edit changes the command lines of MCP servers in the configuration file of a
// client, and no other byte of that file. [Parse] reads a file, [File.Servers] lists the
// servers of one table with their line numbers, and [File.Apply] returns the file with
// other words in front of command lines. The package is pure: bytes in, bytes
// out. Package clients/ownfile reads and replaces the file itself.
//
// The formats are JSON with comments and trailing commas, TOML and YAML. Each has a parser, and all make
// the same tree: values with their places. A byte order mark, line ends, tabs, comments, the order of keys
// and every spelling stay as they are.
//
// # The words in front
//
// A server's command line is a list of words: the program and its arguments. A file holds
// it as a string and a list (command, args), or as one list (OpenCode). A [Change] replaces
// the first Drop words with Words. To put a wrapper in front of a server, Drop is 0; to take
// it away, Words is empty and Drop is the number of its words.
//
// The words that stay keep their bytes. The program's spelling moves from command into the
// list and back, and new words are directly before it:
//
//	"command": "n\u0070x", "args": ["-y", "pkg"]
//	"command": "/bin/jail", "args": ["run", "--", "n\u0070x", "-y", "pkg"]
//
// A list that was empty keeps its blanks after the new words. Where there was no list, one
// is inserted right after command, and its first word is one blank after the bracket.
// Those two forms differ, so removing the words restores the file byte for byte without a
// record of its old form.
//
// Before Apply returns, other parsers read both files: hujson with encoding/json, BurntSushi/toml, or the
// decoder of the YAML library, which is not asked for places. They must find the words of each change, and
// else the same values. If all changes have Drop 0, removing the words must give back the file.
//
// # Limits
//
//   - The file is UTF-8, of at most 5 MB. JSON has at most 64 MB and a million values, and is at most 500
//     levels deep. A mapping of YAML has at most 2,000 keys.
//   - JSON5 (single quotes, bare keys) and several YAML documents in one file are errors.
//   - What clients read in different ways is a [Fault] of the file, of a table
//     ([File.Ambiguity]) or of an entry ([Server.Ambiguous]): characters that end a line for some
//     parsers only, a key that is there twice, keys that each object of JavaScript has, keys that
//     differ from those of the client in the case of their letters only, halves of surrogates, and
//     in YAML directives, anchors, aliases, tags, merge keys and words without quotes that are no text.
//     The functions in ambiguous.go name the parsers.
//   - Refused, with line and reason: in YAML a program that is a block scalar, or goes on in another line;
//     an args that is no list of scalars, such as null.
//   - Comments between words that are removed go with them. Apply adds none there.
//   - After a client has formatted a wrapped file anew, removing the words restores the
//     values. A list that was missing may then be there and empty.
package edit
