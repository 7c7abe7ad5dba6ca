// Package toolpin records what the tools of a server say about themselves, and tells what
// changed. A model reads these definitions, so a changed description is a changed
// instruction.
//
// [New] makes a [Pin] of the pages of a tools/list result. A tool's definition is the
// canonical JSON (RFC 8785) of its members name, title, description, inputSchema and
// outputSchema, as far as they are present. The annotations and the server's own name,
// version and instructions stand apart. [Compare] returns the members
// in which two pins differ, and [Difference.String] shows each one in a line that is safe on a terminal.
//
// # Limits
//
//   - Members of a tool that are not named above (icons, execution, _meta) do not count.
//     Prompts, resources and resource templates have no pin.
//   - RFC 8785 compares numbers as IEEE 754 doubles: 9007199254740993 equals
//     9007199254740992. A number beyond their range is refused.
//   - JSON that programs read differently is refused: two members of one name, members that
//     differ from a pinned one by their case, invalid UTF-8, and half of a surrogate pair, as of an
//     emoji that was cut.
//   - Of a definition of more than 64 KiB, and of those that go beyond 512 KiB in total, only the
//     SHA-256 is kept. [Compare] notices a change of them, but cannot show it.
package toolpin
