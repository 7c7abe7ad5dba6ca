// Package wrapping puts the servers of MCP clients into the jail, and takes them out again:
// it joins what clients knows of each client, what clients/edit does to a file, and what
// presets knows of a server.
//
//	files, err := wrapping.Find(host, wrapping.Selection{})
//	for _, f := range files {
//		change := f.Wrap(program, selection, host, names)
//		... // show change.Servers and change.Diff(), and ask
//		backup, err := change.Write(dir, time.Now())
//	}
//
// A [File] is a file in which a client looks for servers. A [Change] is what becomes of it:
// [File.Wrap] and [File.Unwrap] return one and write nothing. [Change.Write] writes it: a copy
// of the file, then the file, then a [Backup]. By that, mcp-jail status tells which servers
// were changed since.
//
// # What an entry gets
//
// The command line that Wrap writes carries the whole policy, as flags of mcp-jail run. It
// grants what the entry itself shows:
//
//   - the preset of the package or program, if there is one (--preset)
//   - the variables that the entry sets, names or takes from a file, and that the preset does
//     not know (--env)
//   - without a preset, the files and directories among its arguments, to read (--read)
//   - for an entry of a project that gets the default policy: the client's variable for the
//     directory of the project, unless the client starts servers there anyway (--workspace)
//
// # Limits
//
// Find does not look for files of the system and of administrators. If an argument has variables
// that the client replaces, its path is granted only if they stand for the project or the home
// directory.
package wrapping
