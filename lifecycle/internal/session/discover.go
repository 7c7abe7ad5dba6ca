package session

import (
	"fmt"
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// WatchIgnored calls ignored when a server has ignored a server/discover for limit after it has
// read it: a program that is being loaded reads nothing, and so ignores nothing. It returns
// then, and when the answer is no longer awaited, and when quit is closed. isRead is not asked about a
// stdin that we have closed: such a server is about to end, and its pipe no longer says what it has read.
func WatchIgnored(limit time.Duration, stdin *os.File, awaited, isRead func() bool, quit <-chan struct{}, ignored func()) {
	ticker := time.NewTicker(max(limit/40, time.Millisecond))
	defer ticker.Stop()
	var read time.Time
	for awaited() {
		select {
		case now := <-ticker.C:
			switch {
			case !read.IsZero() && now.Sub(read) >= limit:
				ignored()
				return
			case read.IsZero() && isRead() && streams.Descriptor(stdin) >= 0:
				read = now
			}
		case <-quit:
			return
		}
	}
}

// DeclinedDiscover returns the error that answers server/discover in a server's name.
func DeclinedDiscover(server, why string) []byte {
	text := fmt.Sprintf("mcp-jail: server %q %s; mcp-jail takes it for a server that does not know this method", server, why)
	return mcpproxy.ErrorValue(-32601, text, fmt.Appendf(nil, `{"dev.mcp-jail/discover-guard":{"server":%s,"method":"server/discover"}}`, JSONString(server)))
}
