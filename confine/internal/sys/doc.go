// Package sys has functions for the kernel's interface and for Go's threads that several packages
// need: socket addresses, passed descriptors, reads and poll, the size of the descriptor table, and
// threads.
//
// It decides nothing about jails. Of several proc filesystems, the launcher reads the host's, and the
// supervisor of a jail with namespaces its own: [Dir].
// An [Error] is a step of the start that failed.
package sys
