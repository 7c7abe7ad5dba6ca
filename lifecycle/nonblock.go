package lifecycle

import (
	"errors"
	"os"
	"syscall"
)

// blockingFile is a descriptor of the client's that somebody who shares the open file
// (a program on the same terminal, a shell's next command) may make non-blocking
// at any time. Of one that was so from the beginning the runtime takes care.
type blockingFile struct{ *os.File }

// Read implements io.Reader.
func (f blockingFile) Read(b []byte) (n int, err error) {
	for {
		if n, err = f.File.Read(b); n > 0 || !errors.Is(err, syscall.EAGAIN) {
			return n, err
		}
		waitReady(f.File, false)
	}
}

// Write implements io.Writer.
func (f blockingFile) Write(b []byte) (n int, err error) {
	for {
		m, err := f.File.Write(b[n:])
		if n += m; !errors.Is(err, syscall.EAGAIN) {
			return n, err
		}
		waitReady(f.File, true)
	}
}
