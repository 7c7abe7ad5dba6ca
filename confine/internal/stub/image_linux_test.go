package stub

import (
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
		testkit.Is(t, "writing to it", testkit.ErrorOf(w.Write([]byte{0})), unix.EPERM)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Size > 1024 {
		t.Errorf("%d bytes, %v", st.Size, err)
	}
}
