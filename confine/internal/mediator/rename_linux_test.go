package mediator

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestScanInParts checks that a scan of a large directory stops without having read all of it.
func TestScanInParts(t *testing.T) {
	dir := t.TempDir()
	for i := range 2 * readAtOnce {
		testkit.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint("f", i)), nil, 0o600))
	}
	left := 2 * readAtOnce
	if protectedBelow(&policy.Profile{}, unix.AT_FDCWD, dir, &left) || left != 0 {
		t.Errorf("a protected file was found: %d left", left)
	}
	testkit.Must(t, os.Mkdir(filepath.Join(dir, ".vscode"), 0o700))
	for _, names := range []int{10, 2*readAtOnce + 1} {
		if left = names; !protectedBelow(&policy.Profile{}, unix.AT_FDCWD, dir, &left) {
			t.Errorf("of %d names, none may be protected", names)
		}
	}
	if left = 1; !protectedBelow(&policy.Profile{}, unix.AT_FDCWD, dir+"/missing", &left) {
		t.Error("what cannot be read may hold a protected name")
	}
}
