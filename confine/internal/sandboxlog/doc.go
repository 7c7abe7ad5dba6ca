// Package sandboxlog reads what macOS has logged about the refusals of a sandbox.
//
// The kernel of macOS writes a line to the system's log for a refused access, and the profile of
// each session ends that line with a tag of its own. `/usr/bin/log show` prints the lines, to
// administrators only. Parse turns its output into denials. A [Log] runs it when asked to, which
// takes up to a second and a half, so nothing that a message waits for may ask.
//
// The log is evidence and no more than that: the kernel merges repetitions, leaves some refusals
// out, and prints "*" for the addresses of others. That a line with the tag is found at all is
// shown by the self-test, and has not yet been seen on a Mac.
package sandboxlog
