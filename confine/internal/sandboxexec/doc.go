// Package sandboxexec starts programs under macOS's sandbox-exec, and ends them.
//
// The launcher starts sandbox-exec in a session, and so in a process group, of its own. What that executes
// first, under the profile, is mcp-jail again: it looks whether the profile holds, sets limits, and executes
// the server in its place. A second process of mcp-jail, the watcher, ends the group if the launcher is gone.
//
// A program that makes a group or a session of its own is not ended. That is a gap of every plan.
package sandboxexec
