// Package sys holds what several packages need of the kernel and of Go's threads: socket
// addresses, passed descriptors, poll, the size of the descriptor table, and threads.
//
// It decides nothing about jails. What reads /proc is in package proc.
package sys
