package wrapping

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
)

// TestRememberTogether: of several wraps at once, each one's file is remembered.
func TestRememberTogether(t *testing.T) {
	t.Parallel()
	const wraps = 20
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range wraps {
		all.Go(func() {
			file := fmt.Sprintf("/some/place/%d.json", i)
			for range 2 {
				if err := Remember(dir, clients.Host{OS: runtime.GOOS, Home: "/home/you"}, Selection{Files: []string{file}}, []*Change{{File: &File{Path: file}}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := Remembered(dir); len(got) != wraps {
		t.Errorf("%d of %d files are remembered: %v", len(got), wraps, got)
	}
}
