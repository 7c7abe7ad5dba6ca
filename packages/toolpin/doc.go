// Package toolpin records what the tools of a server say about themselves, and tells in words
// what changed. A model reads these definitions, so a changed description is a changed
// instruction.
//
// [New] makes a [Pin] of the pages of a tools/list result. A tool's hash is SHA-256 over
// the canonical JSON (RFC 8785) of its members name, title, description, inputSchema and
// outputSchema, as far as they are present. Any other implementation of RFC 8785 computes
// the same hash. The annotations and the server's own name, version and instructions stand
// apart. [Compare] returns the differences between two pins, and [Difference.String] says
// each one in a line that is safe on a terminal.
//
// # Limits
//
//   - Members of a tool that are not named above (icons, execution, _meta) do not count.
//     Prompts, resources and resource templates have no pin.
//   - RFC 8785 compares numbers as IEEE 754 doubles: 9007199254740993 equals
//     9007199254740992. A number beyond their range is refused.
//   - RFC 8785 refuses lone surrogates. In the value of a string this package keeps them as
//     a lower-case escape, as JSON.stringify does, because servers cut emoji in half.
//   - JSON that programs read differently is refused: two members of one name, members that
//     differ from a pinned one by their case, and invalid UTF-8.
//   - A definition of more than 64 KiB, and those that go beyond 512 KiB in total, are kept as a
//     hash only. [Compare] notices a change of them, but cannot show it.
package toolpin
