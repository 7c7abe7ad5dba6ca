package refusals

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/mcp-jail/mcp-jail/diagnostics"
)

// Log says which log messages about refusals the client is sent.
type Log struct {
	mu     sync.Mutex
	told   map[string]bool // the keys of those that the client was sent, or will be sent
	unsent int             // what limit has held back
	limit  *rate.Limiter
}

const maxTold = 1000 // Log.told

// NewLog returns a Log that lets ten messages pass at once, and then one a second.
func NewLog() *Log {
	return &Log{told: map[string]bool{}, limit: rate.NewLimiter(rate.Every(time.Second), 10)}
}

// Text returns the text of a log message. ok is false if there should be none. sent says that it goes
// out now, and again that it does although the client had the same.
func (l *Log) Text(d diagnostics.Diagnosis, sent, again bool) (text string, ok bool) {
	key := d.Key()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !again && (l.told[key] || len(l.told) >= maxTold):
		return "", false
	case sent && !l.limit.Allow():
		l.unsent++
		return "", false
	}
	if !again {
		l.told[key] = true
	}
	text = d.LogText()
	if sent && l.unsent > 0 {
		text += fmt.Sprintf("\n%d more refusals before it were not sent: `mcp-jail why` has them.", l.unsent)
		l.unsent = 0
	}
	return text, true
}
