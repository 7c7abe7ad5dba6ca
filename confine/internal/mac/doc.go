// Package mac starts programs under macOS's sandbox-exec, ends them, and probes on the machine at hand
// that Seatbelt holds what mcp-jail builds on it.
//
// The launcher starts sandbox-exec in a session, and so in a process group, of its own. What that executes
// first, under the profile, is mcp-jail again: it looks whether the profile holds, sets limits, and executes
// the server in its place. A second process of mcp-jail, the watcher, ends the group if the launcher is gone.
//
// A program that makes a group or a session of its own is not ended. That is a gap of every plan.
//
// # Probes
//
// No Mac was at hand when this was written. So no server starts on one before the probes of the table
// were made on that machine, once for each build of macOS and of mcp-jail.
//
// A probe is some attempts, such as to open a file. Each is made twice, in two trees of files that are
// alike: outside of a jail, where it must work, and in a jail, whose text comes from the generator that
// every start uses. An attempt that fails outside shows nothing, and counts as failed. A probe that fails
// makes its axis a gap.
//
// No attempt opens a window or a dialog, outside of a jail neither, or leaves something if it is killed. What
// only root may do, and what macOS lets no ordinary program do, has no control and is not probed.
//
// Begin at [Start] and at [Prove].
package mac
