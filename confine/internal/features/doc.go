// Package features finds out what this kernel and this host offer for a jail.
//
// [Probe] asks for everything and is for reports. [Detect] asks only what compiling a plan needs,
// and is part of each start. Both return facts: [Features] about the kernel, and [Facts], which
// adds the host and this process. Package plan decides what follows from them. A probe answers
// yes, no, or unknown, with the reason and what the user can do.
//
// # Limits
//
// Every answer concerns this process: a container or a service manager can take away what the
// kernel has. [Cache] keeps certain answers only. User namespaces and overlays are certain only
// after a start has tried them.
package features
