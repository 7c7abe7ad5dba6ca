package session

import "os"

// Descriptor returns the number of f, or -1 if it is closed. f.Fd would change the mode of
// f.
func Descriptor(f *os.File) int {
	n := -1
	if raw, err := f.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { n = int(fd) })
	}
	return n
}

func isSocket(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeSocket != 0
}
