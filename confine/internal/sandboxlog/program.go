//go:build !(linux && seatbelt)

package sandboxlog

// location returns the program that prints the log of the system. all reports whether every user may
// read that.
func location() (file string, all bool) { return program, false }
