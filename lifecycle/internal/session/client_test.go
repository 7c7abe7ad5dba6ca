package session

import (
	"os"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
)

// TestWatchIgnored: a server whose pipe we have closed does not count as one that has read its
// request. The control is the same server while the pipe is open.
func TestWatchIgnored(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	testkit.Must(t, err)
	defer r.Close()
	client := Client{Times: Times{Discover: time.Millisecond}}
	watch := func() (ignored bool) {
		looks := 0
		awaited := func() bool { looks++; return looks < 20 }
		isRead := func() bool { return streams.UnreadBytes(w) == 0 }
		client.WatchIgnored(w, awaited, isRead, nil, func() { ignored = true })
		return ignored
	}
	if !watch() {
		t.Error("an open pipe: not seen to be ignored")
	}
	w.Close()
	if watch() {
		t.Error("a closed pipe counts as read")
	}
}
