// Package undo keeps what was at a path before a jailed server changed it, and puts it back.
//
// A session of a server has a directory in a [Store]. Each of its jails has two files there: a
// journal, and the data that the journal points into.
//
//   - The [Keeper] writes both. The jail's supervisor calls it before each change that it
//     carries out for the server. It has the two descriptors and no name of the store, so nothing
//     that the server names leads into it.
//   - [Store.Session] reads the journals, and [Session.History] adds them up: what was at each
//     path before ([Change.Before]) and after ([Change.After]), and what is not known
//     ([Session.Gaps]).
//   - [Restorer] compares that with what is there now, and puts back what it may.
//
// The journal records states, not steps: what was at a path before its first change. So the
// order in which paths are put back does not matter, one path can be put back without the
// others, and an interrupted restore is finished by another one. A file that is moved keeps
// its content where it is; the journal names its inode, and the restore looks for it.
//
// The journal also records the states that the server leaves, because a file that its user has
// changed since must not be overwritten. No supervisor sees writes to an open file. So the Keeper
// looks at each touched path a moment later, and again until no process has it open for writing,
// and records what it found. When a session is killed, the files that were still open have no such
// record. Then a file whose inode changed last while the session lived counts as the server's. At the
// beginning of each call, Keeper.CallBegins keeps what is open again.
//
// The first state of a path is never replaced. If the Keeper later finds a state that the server is
// not known to have left, it keeps that one beside the first ([Selection.Others]). The server may
// have written it through a descriptor that nothing shows. Others, in this package, are all
// programs but the server.
//
// Limits: Extended attributes and access lists are not kept. A removed FIFO, socket or device is
// named and not made again. A file that a jail and a process outside of it change within one moment
// counts as the server's. A jail learns at its start how much of the session's total the other
// jails have left, and not how much they take from then on. On filesystems without a birth time, an
// inode number that is used again within a session can be taken for the file that had it before.
// The kept states survive the end of processes, and not a loss of power: they are not synced.
//
// The carrying out is in this package. The rest is below it: what is at a path (object), what is
// written and read (journal), what the supervisor keeps (keeper), who left what is at a path
// (origin), and what is to be done there (steps).
package undo
