package undo

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkKeep measures the additional work of the supervisor at the first change of a file of 4
// KB, and at the next changes.
func BenchmarkKeep(b *testing.B) {
	w := newWorld(b)
	w.begin()
	defer w.end()
	const files = 1000
	fds, names := make([]int, files), make([]string, files)
	for i := range files {
		names[i] = w.at(fmt.Sprintf("f%d", i))
		w.check(os.WriteFile(names[i], bytes.Repeat([]byte("x"), 4096), 0o600))
		fd, err := unix.Open(names[i], unix.O_PATH|unix.O_CLOEXEC, 0)
		w.check(err)
		defer unix.Close(fd)
		fds[i] = fd
	}
	b.Run("first", func(b *testing.B) {
		for i := range b.N {
			if i%files == 0 {
				b.StopTimer()
				w.keeper = keeperOf(b, w.files)
				w.check(w.files.Data.Truncate(0))
				w.check(w.files.Journal.Truncate(0))
				b.StartTimer()
			}
			w.keeper.Content(fds[i%files], names[i%files])
		}
	})
	b.Run("again", func(b *testing.B) {
		w.keeper.Content(fds[0], names[0])
		for range b.N {
			w.keeper.Content(fds[0], names[0])
		}
	})
}
