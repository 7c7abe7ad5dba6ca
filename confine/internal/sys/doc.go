// Package sys has functions for the kernel's interface and for Go's threads that several packages
// need: socket addresses, passed descriptors, reads and poll, the size of the descriptor table, and
// threads.
//
// It decides nothing about jails. Functions that read /proc are in package proc.
package sys
