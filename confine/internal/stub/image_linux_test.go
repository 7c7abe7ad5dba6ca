package stub

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestProgram checks that the stub's program is small and cannot be changed.
func TestProgram(t *testing.T) {
	fd := testkit.Get(Program())(t)
	if w, err := os.OpenFile(fdPath(fd), os.O_RDWR, 0); err == nil {
		defer w.Close()
		if _, err := w.Write([]byte{0}); !errors.Is(err, unix.EPERM) {
			t.Errorf("writing to it: %v", err)
		}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Size > 1024 {
		t.Errorf("%d bytes, %v", st.Size, err)
	}
}
