// Package proc reads /proc and the memory of other processes.
//
// A process may see several proc filesystems. The launcher reads the host's, at /proc. The
// supervisor of a jail with namespaces has one of its own, because the jail's does not show the
// supervisor: see [Dir]. Process numbers are those of the PID namespace that the filesystem
// shows, unless a comment says otherwise.
package proc
