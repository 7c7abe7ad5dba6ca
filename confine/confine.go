package confine

import (
	"syscall"
)

// Remark is what a jail says of itself while its server runs, which goes on.
type Remark struct {
	Text    string
	Warning bool // something that was granted does not work; otherwise it is for a log
}

// Exit is how a program ended.
type Exit struct {
	Code   int            // exit status; 128+n after signal n
	Signal syscall.Signal // 0 unless a signal ended it
	Why    string         // why the jail ended it, which could not go on as promised; "" otherwise
}
