// Package kernel finds out what this kernel and this host offer for a jail.
//
// [Probe] asks for everything and is for reports. [Detect] asks only what compiling a plan needs,
// and is part of each start. Both return facts: [Features] about the kernel, and [Facts], which
// adds the host and this process. Package plan decides what follows from them. A probe answers
// yes, no, or unknown, with the reason and what the user can do.
//
// # Cgroups
//
// The user's systemd gives a jail a cgroup (v2) of its own, with the controllers memory and pids.
// [LocateCgroup] tells whether this process may ask. [MakeScope] asks for a scope with the limits, and
// reads them back. systemd removes an empty scope. On a machine with systemd, all cgroups belong to it:
// an ordinary user gets one in this way only. Where none can be had, the supervisor samples memory.
//
// # Limits
//
// Every answer concerns this process: a container or a service manager can take away what the
// kernel has. [Cache] keeps certain answers only. User namespaces and overlays are certain only
// after a start has tried them.
package kernel
