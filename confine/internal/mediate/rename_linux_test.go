package mediate

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestScanInParts checks that a scan of a large directory stops without having read all of it.
func TestScanInParts(t *testing.T) {
	dir := t.TempDir()
	const n = 5000
	for i := range n {
		testkit.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint("f", i)), nil, 0o600))
	}
	scan := func(names int) (found bool, allocated float64) {
		allocated = testing.AllocsPerRun(1, func() {
			left := names
			found = protectedBelow(unix.AT_FDCWD, dir, &left)
		})
		return found, allocated
	}
	whole, all := scan(n)
	part, some := scan(10)
	if whole || !part {
		t.Errorf("a protected name was found: %v and %v", whole, part)
	}
	if some > all/4 {
		t.Errorf("10 names of %d took %v allocations, all took %v", n, some, all)
	}
	testkit.Must(t, os.Mkdir(filepath.Join(dir, ".vscode"), 0o700))
	if found, _ := scan(n + 1); !found {
		t.Error("the protected name was not found")
	}
}
