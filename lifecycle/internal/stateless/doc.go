// Package stateless runs a client session in which each tools/call has its own process, called
// a worker. The package comment of lifecycle tells what a client sees of that.
//
// It starts processes by the launcher of the session only, and opens no file. Begin at [Run].
package stateless
