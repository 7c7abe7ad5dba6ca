package learncmd

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
)

// A round that takes longer than saysAfter says what it is for, and then now and again how far it is.
const (
	saysAfter = time.Second
	saysEvery = 10 * time.Second
)

// progress tells how far a round is.
type progress struct {
	answered atomic.Int32
	stop     context.CancelFunc
	done     chan struct{}
}

// tellProgress tells it until end. requests are those of the round, or nil if that is not known.
func (l perCall) tellProgress(ctx context.Context, what string, requests []drive.Request) *progress {
	deadline, _ := ctx.Deadline()
	ctx, stop := context.WithCancel(ctx)
	p := &progress{stop: stop, done: make(chan struct{})}
	all := len(requests)
	if l.expected.First != nil {
		all += l.lists()
	}
	go func() {
		defer close(p.done)
		for wait := saysAfter; ; wait = saysEvery {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			left := time.Until(deadline).Round(time.Second)
			if wait == saysAfter {
				l.c.Sayf("round %d: %s; %s of the budget left ...", l.rounds, what, left)
				continue
			}
			l.c.Sayf("round %d: %s so far; %s of the budget left ...", l.rounds, p.text(all), left)
		}
	}()
	return p
}

// text says how many answers there are, of all if that is known.
func (p *progress) text(all int) string {
	switch n := int(p.answered.Load()); {
	case n == 0:
		return "no answer"
	case all >= n:
		return fmt.Sprintf("%d of %d answers", n, all)
	default:
		return cli.Plural(n, "answer")
	}
}

func (p *progress) end() {
	p.stop()
	<-p.done
}

// isFetching reports whether a line of mcp-jail run says that a package is fetched.
func isFetching(line string) bool {
	return strings.HasPrefix(line, "fetching ") || strings.HasSuffix(line, ": fetching it once")
}

// isWaiting reports whether a line of mcp-jail run says only that something takes time: a round says it itself.
func isWaiting(line string) bool { return strings.HasPrefix(line, "waiting for the first answer ") }
