// Package plugins finds the servers that the plugins and extensions of MCP clients bring.
//
// [Find] returns the plugins of a client. A [Plugin] has the files in which its servers are, each
// with the [clients.Place] that says where in the file: an entry there is wrapped like one of the
// user's own. Servers that are in no such file are in Plugin.Named, with the reason.
//
// Which folders count, and which plugins are switched off, is in lists of the client's. The package
// reads only lists at places of the user's: no list that a project brings leads to a folder. A path
// in a folder counts only if it stays there.
//
// The package opens no file itself. The caller gives it a [Look].
//
// # Limits
//
// A plugin that a client is told about on its command line is not found. A plugin that the settings of
// a project switch off counts as switched on.
package plugins
