// Package oom samples how much memory a jail uses.
//
// A [Watcher] adds up what the jail's processes, their record locks, the files of its own
// filesystems and unmapped shared memory take, and reports when that exceeds a limit. The supervisor then
// ends the whole jail, as systemd-oomd ends a cgroup. It does so only if the kernel holds
// no such limit by a cgroup.
//
// # Limits
//
// The jail can exceed its limit between two samples: see [Watcher.Pause]. Not counted are a
// memfd that no process has open (it is in a socket's queue, or mapped and untouched), and
// memfds of a process that made itself undumpable. Memory that two processes share as one address
// space (vfork, CLONE_VM) counts twice.
package oom
