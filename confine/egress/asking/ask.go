package asking

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"
)

const (
	askTimeout = 2 * time.Minute
	MaxAsked   = 64 // questions in all
)

// Asker asks whether hosts may be reached that no rule is about. An answer holds until the end.
type Asker struct {
	Ask func(ctx context.Context, host string, port int) bool // nil: nothing is asked

	mu      sync.Mutex
	answers map[string]*askedHost
}

type askedHost struct {
	done chan struct{}
	yes  bool
}

// Answer asks, or returns the answer that there was. why is the reason of a refusal.
func (a *Asker) Answer(ctx context.Context, host string, port int) (yes bool, why string) {
	jail := ctx
	ctx, cancel := context.WithTimeout(jail, askTimeout)
	defer cancel()
	key := net.JoinHostPort(host, strconv.Itoa(port))
	a.mu.Lock()
	h := a.answers[key]
	if h == nil {
		if len(a.answers) >= MaxAsked {
			a.mu.Unlock()
			return false, fmt.Sprintf("%d hosts were asked about, and no more are", MaxAsked)
		}
		h = &askedHost{done: make(chan struct{})}
		if a.answers == nil {
			a.answers = map[string]*askedHost{}
		}
		a.answers[key] = h
		go a.run(jail, key, host, port, h) // nothing waits for it: the function could ignore its context
	}
	a.mu.Unlock()
	select {
	case <-h.done:
		if !h.yes {
			return false, "it was asked about, and the answer was no"
		}
		return true, ""
	case <-ctx.Done():
		return false, "it was asked about, and there was no answer"
	}
}

func (a *Asker) run(ctx context.Context, key, host string, port int, h *askedHost) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	h.yes = a.Ask(ctx, host, port)
	if !h.yes && ctx.Err() != nil { // it was not answered: the next connection asks again
		a.mu.Lock()
		delete(a.answers, key)
		a.mu.Unlock()
	}
	close(h.done)
}
