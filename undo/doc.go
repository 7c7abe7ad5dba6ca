// Package undo keeps what was at a path before a jailed server changed it, and puts it back.
//
// A session of a server has a directory in a [Store], with a journal of lines and one file with the
// contents. Several processes append to both.
//
//   - Before the server changes a path the first time in a call, or in the session, the jail's supervisor
//     has the [Keeper] copy what is there. At the end of each call it notes what stands at the paths that
//     were touched, or open for writing at its begin. What changes outside of calls is not noted.
//   - The [Writer] of mcp-jail says in the journal where a call begins and ends.
//   - [Store.Session] reads a journal, and [Session.Changes] adds it up.
//   - A [Restorer] compares three states of a path: before, as noted, and now. What stands as it was
//     noted is put back; what is as before needs nothing; all else was changed by others, and is put back
//     only if the user names it. An undo is a session of its own, so it can be undone.
//
// The supervisor has two open files and no name of the store, so nothing that the server names leads into
// it. Where there is no room to keep something, it must not be changed. A journal names no inodes to
// follow: what was moved is a file that is gone and another one that was made.
//
// Limits: extended attributes and access lists are not kept. A kill leaves what it parts unknown, and a
// loss of power can lose what is kept, because it is not synced.
package undo
