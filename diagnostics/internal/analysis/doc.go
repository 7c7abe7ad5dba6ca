// Package analysis concludes from the evidence of one failure what was refused and which grant helps.
//
// A [Case] has the evidence, and answers what a path means to the server, whether it exists, and which
// rights the profile and the jail give on it. Each subject concludes a [Finding] from it: paths, hosts,
// variables and names of programs, limits and signals, and starts. A [change.Object]
// is what helps. What is known of single programs, how their failures read and what they need, is in programs.toml.
//
// It is pure, and asks about this machine only through the Case. Begin at [NewCase]; paths.go, hosts.go and so on have
// the subjects.
package analysis
