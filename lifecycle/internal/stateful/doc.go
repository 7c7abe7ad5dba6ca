// Package stateful runs a client session against one process of a server. The package comment of
// lifecycle tells how it starts, relays and ends, and what the discover guard is.
//
// It starts processes by the launcher of the session only, and opens no file. Begin at [Run].
package stateful
