//go:build unix

package lifecycle

import (
	"strings"
	"testing"
	"time"
)

// The answer to a call that was too late while its process was being started does not
// blame the number of calls.
func TestLateBeforeItsProcess(t *testing.T) {
	f := newShop()
	f.servers["late"] = "silent" // its handshake is never answered
	p := beginStateless(t, f, func(s *Session, o *Stateless) {
		s.Profile.Call, o.MaxCalls = 700*time.Millisecond, 1
	})
	p.greet()
	p.send(callOf("1", "late", `{}`))
	eventually(t, "the process of the first call", func() bool { return f.started("late") == 1 })
	l := p.line()
	if !hasID(l, "1") || !strings.Contains(l, "still being started") || strings.Contains(l, "max_concurrent_calls") {
		t.Errorf("a call that was too late was answered with %q", l)
	}
	p.in.Close()
	p.ended()
}
