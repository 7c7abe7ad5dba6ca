package egress

import (
	"context"
	"io"
	"sync"
	"time"
)

// lifetime holds the goroutines and sockets of a Gateway, and ends them.
type lifetime struct {
	jailCtx context.Context // ends when Close begins
	endJail context.CancelFunc
	ctx     context.Context // ends when Close has drained the connections
	cancel  context.CancelFunc
	limits  drainLimits

	mu      sync.Mutex
	closed  bool
	closers []io.Closer    // closed at the end
	serving sync.WaitGroup // counts connections
	wg      sync.WaitGroup
}

func (l *lifetime) begin() {
	l.limits = defaultDrainLimits
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.jailCtx, l.endJail = context.WithCancel(l.ctx)
}

// spawn runs f in a goroutine that end waits for. It returns false after end.
func (l *lifetime) spawn(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.wg.Go(f)
	return true
}

// spawnServing is spawn for a connection: end first lets it drain.
func (l *lifetime) spawnServing(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.serving.Add(1)
	l.wg.Go(func() {
		defer l.serving.Done()
		f()
	})
	return true
}

// closeAtEnd makes end close c. After end, it closes c at once and returns false.
func (l *lifetime) closeAtEnd(c io.Closer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		c.Close()
		return false
	}
	l.closers = append(l.closers, c)
	return true
}

// waitRetry waits a little after an error. It returns false when the jail ends.
func (l *lifetime) waitRetry() bool {
	select {
	case <-l.jailCtx.Done():
		return false
	case <-time.After(acceptRetry):
		return true
	}
}

// end lets the connections deliver the bytes that were sent, ends them, and waits for all goroutines.
func (l *lifetime) end() {
	l.mu.Lock()
	shut := l.closers
	l.closed, l.closers = true, nil
	l.mu.Unlock()
	for _, c := range shut {
		c.Close()
	}
	l.endJail()
	late := time.AfterFunc(l.limits.timeout, l.cancel)
	l.serving.Wait()
	late.Stop()
	l.cancel()
	l.wg.Wait()
}
