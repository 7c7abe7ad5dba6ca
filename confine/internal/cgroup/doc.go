// Package cgroup has the user's systemd give a jail a cgroup (v2) of its own, with the controllers
// memory and pids.
//
// [Locate] tells whether this process may ask. [MakeScope] asks for a scope with the limits, and
// reads them back. [Cgroup.Watch] and [Cgroup.NewEvents] tell what the kernel refused or ended, and
// [Cgroup.End] ends what is left in it. systemd removes an empty scope.
//
// # Limits
//
// On a machine with systemd, all cgroups belong to it: an ordinary user gets one in this way only.
// The package does not use cgroup v1, nor the system's own manager. Where no cgroup can be had,
// package oom samples memory.
package cgroup
