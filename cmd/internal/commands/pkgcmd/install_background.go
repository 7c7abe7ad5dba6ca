package pkgcmd

import (
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/packages/install"
)

// idleAfterClient is how long an installation without a client may make no progress. The next
// start waits for the end of this installation, and asks the registry anew.
const idleAfterClient = 15 * time.Second

// background ends an installation whose client has left. Its methods may be called from
// several goroutines.
type background struct {
	end func()

	mu    sync.Mutex
	last  install.Progress
	idle  *time.Timer // nil while there is a client
	total *time.Timer
}

func (b *background) left() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle, b.total = time.AfterFunc(idleAfterClient, b.end), time.AfterFunc(session.AfterClient, b.end)
}

func (b *background) progress(p install.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.idle != nil && p != b.last {
		b.idle.Reset(idleAfterClient)
	}
	b.last = p
}
