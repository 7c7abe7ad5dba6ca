// Package network decides about hosts: whether the policy refuses a connection that a text or the
// record names, and which rule would grant it.
package network
