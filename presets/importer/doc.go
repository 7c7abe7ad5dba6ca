// Package importer turns what publishers say about a server into a table of mcp-jail's
// configuration to begin with: the registry's server.json, the manifest.json of a bundle
// (MCPB, DXT), an entry of Smithery or of Docker's catalogue.
//
//	starter, err := importer.Import(data, "")
//	os.Stdout.WriteString(starter.Text)
//
// The text is a valid [servers.NAME] table. What only the user knows, and what the file does
// not say, is in it as a comment: a value to fill in, a path to grant, the hosts. So a
// starter grants what the file clearly names, and nothing besides. Where a preset knows the
// package, the text names it.
//
// The package is given bytes and returns text. It fetches nothing, runs nothing (Smithery's
// commandFunction is JavaScript, of which it reads the variables), and trusts nothing: texts
// of the file become comments of one line, without control characters, and a name that is
// refused for a variable is not forwarded.
//
// # Limits
//
//   - A file has at most 1 MiB, and at most 200 variables, arguments, paths and hosts together.
//   - Of several packages the first that mcp-jail can confine is taken: npm, then PyPI, then a
//     bundle, then a container, which is not confined.
//   - server.json does not say which hosts a server reaches, and a manifest does not either.
package importer
