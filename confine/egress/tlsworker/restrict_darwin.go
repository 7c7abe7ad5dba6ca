package tlsworker

import "golang.org/x/sys/unix"

// restrictSelf keeps debuggers from attaching to this process.
func restrictSelf() error { return unix.PtraceDenyAttach() }
