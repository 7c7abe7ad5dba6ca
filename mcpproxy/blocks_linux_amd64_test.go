package mcpproxy

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestBlocksAtTheEndOfMemory searches bytes before a page that nothing may read.
func TestBlocksAtTheEndOfMemory(t *testing.T) {
	size := unix.Getpagesize()
	memory, err := unix.Mmap(-1, 0, 2*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	testkit.Must(t, err)
	defer unix.Munmap(memory)
	testkit.Must(t, unix.Mprotect(memory[size:], unix.PROT_NONE))
	for n := range 5*blockSize + 1 {
		b := memory[size-n : size : size]
		for i := range b {
			b[i] = 'a'
		}
		if got := textPrefix(b); got != n {
			t.Errorf("text of %d bytes, not %d", got, n)
		}
		for _, end := range []string{"a", `"`, `\`, `\\`, "é", "\n"} {
			if copy(b[max(0, n-len(end)):], end); n > 0 {
				b[0] = '"'
			}
			var s Scanner
			s.Scan(b)
		}
	}
}
