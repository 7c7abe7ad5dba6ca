// Package config reads the configuration: TOML files, their layers, the trust in project
// files, and the flags of a server that is given on the command line. [Load] and
// [FromCommandLine] are its entry points; [Config.Policy] returns the policy of one server
// or tool, with all defaults filled in.
//
// [Decode] reports all problems of a file at once, each with file, line and key. The layers
// are the system's, the user's and the project's file, in this order. Values of a later
// layer replace earlier ones; rules are appended unless a strategy says otherwise. A project
// file counts only if the user trusted exactly this content (see [TrustStore]). It declares
// servers of its own (project.go), and takes away from those of the user (narrow.go).
//
// Each key has one row, in keys.go, keys_rules.go or settings.go, with its type, bounds, default and text. The
// decoder, the encoder, the layers and the schema for editors (docs/mcp-jail.schema.json, which a test writes) range
// over the rows. The decoder refuses more than the schema: keys that contradict each other, texts that a regular
// expression cannot tell, a server without a command.
//
// A server may name a preset. This package does not know what the preset says: before its
// caller asks for a policy, it lays the table of the preset below the server's own
// ([Config.LayBelow]).
//
// # Limits
//
//   - A configuration file has at most 1 MiB and 16 levels of nesting.
//   - A file that another user owns or may write is refused, unless it is a project's file,
//     whose content is trusted. On Windows, owners are not checked.
//   - The package reads its own files and looks up their owners. It does not look at the
//     paths, programs or variables that a policy names: package policy/resolve does.
//
// Below the package, internal/reader reads the values of a table, internal/trust keeps what the user
// accepted, internal/stamp tells what has changed.
package config
