// Package egress lets the programs of one jail reach the hosts that its policy
// grants, and no others.
//
// It is the host's side. What happens inside of the jail, and how sockets come out
// of it, is package confine's.
package egress
