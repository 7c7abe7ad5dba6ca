// Package facts has the evidence of one failure, and a Case, which answers questions about it: what
// a path means to the server, whether it exists, which rights the profile and the jail give on it.
// A Finding is what the packages of the subjects conclude from a Case.
package facts
