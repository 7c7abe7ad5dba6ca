// Package cgroup gives each jail a cgroup (v2) of its own, with the controllers memory and pids.
//
// [Locate] finds where this process may have one: in a directory that is delegated to it, or by
// way of the user's systemd. [New] makes a cgroup in a directory, [MakeScope] asks systemd for a
// scope. [Cgroup.Limit] sets the limits and reads them back, [Cgroup.Watch] and
// [Cgroup.NewEvents] tell what the kernel refused or ended, and [Cgroup.Remove] ends and removes
// the cgroup. [Sweep] removes the cgroups of launchers that were killed.
//
// # Limits
//
// The package enables no controllers and moves no process other than the jail's. It does not use
// cgroup v1, nor the system's own manager. Where no cgroup can be had, package oom samples
// memory.
package cgroup
