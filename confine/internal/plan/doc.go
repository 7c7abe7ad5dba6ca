// Package plan compiles a policy.Profile for one host.
//
// [Compile] takes the profile and what the host offers (probe.Facts). It returns a [Plan]: the
// spec that a jail is built by, what holds ([Enforcement]), what does not ([Gap]), and notes.
// Compile is pure. It does not change the profile. The spec of a plan is not changed afterwards:
// the launcher copies it to fill in values that exist only at the start, such as certificates.
//
// There are two kinds of plan. One uses new namespaces, with mounts, Landlock and seccomp. The
// other uses the host's namespaces, for hosts that refuse user namespaces; hostns.go and
// network_hostns.go compile it. It has more gaps.
//
// The launcher, and not this package, decides whether a gap is accepted. A gap that cannot be
// waived is Fatal.
package plan
