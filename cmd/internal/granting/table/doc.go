// Package table edits grants in the table of a server in a configuration file, and no other byte of
// the file.
//
//	after, err := table.Change{File: name, Server: "files", Flags: []string{"--read", "~/notes"}}.Apply(text)
//
// [Change.Apply] is text in, text out. Its flags are those of mcp-jail run that grant something. A rule
// goes where the file has the others: in tables with headers, in a list in brackets, in braces or behind
// dotted keys. A rule for the same path that lacks a right gets it, and a server that had the default
// policy keeps the workspace. Remove takes away what Apply would have added:
//
//   - A right that was added to a rule comes right after the path, before the other rights.
//   - The rule that keeps the workspace has write before read.
//   - A list that was made for a rule has a blank after its bracket, and one that was empty has none.
//
// Apply proves its result. It decodes the text, and the tables of the file must be those from before
// with the grant and no other difference. The policy of the process must have the grant, and must not
// have lost anything. Otherwise the error says what to write by hand: see [ByHandError].
package table
