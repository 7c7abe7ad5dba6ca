package session

import (
	"errors"
	"os"
	"syscall"
)

// blockingFile is a descriptor of the client's that was blocking when we got it. Another
// program that shares the open file (a program on the same terminal, the shell's next
// command) may make it non-blocking at any time. blockingFile then polls. Descriptors that
// were non-blocking from the start are handled by the runtime.
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
