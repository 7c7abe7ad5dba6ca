//go:build unix

package lifecycle

import (
	"strings"
	"testing"
	"time"
)

// TestUnread: a client that does not read what it is sent keeps nobody from leaving,
// whatever is still to be said to it.
func TestUnread(t *testing.T) {
	for name, leave := range map[string]func(*play){
		"ctx":   func(p *play) { p.cancel() },
		"stdin": func(p *play) { p.in.Close() },
	} {
		for about, open := range map[string]string{
			"call":   callOf("2", "never", "{}"),
			"batch":  "[" + callOf("1", "echo", "{}") + "," + callOf("2", "never", "{}") + "]",
			"listen": legacy("2", "subscriptions/listen", "{}"),
		} {
			t.Run(name+" "+about, func(t *testing.T) {
				f := newShop()
				p := beginStateless(t, f, func(s *Session, _ *Stateless) {
					s.times.term, s.times.drainTotal = 200*time.Millisecond, 200*time.Millisecond
				})
				p.greet()
				p.send(open)
				if about == "listen" {
					p.told("notifications/subscriptions/acknowledged")
				} else {
					p.told("notifications/message")
				}
				if about == "batch" {
					eventually(t, "the batch has an answer", func() bool { return len(f.of("echo")) == 1 && isClosed(f.of("echo")[0].done) })
				}
				p.send(callOf("3", "big", "1000000"))
				eventually(t, "there is something to read", func() bool { return unreadBytes(p.out) > 0 })
				leave(p)
				select {
				case <-p.status:
				case <-time.After(10 * time.Second):
					p.out.Close()
					t.Error("the session does not end")
				}
			})
		}
	}
}

// TestAlwaysChanged: a server that says after each list that it has changed is not
// asked without end.
func TestAlwaysChanged(t *testing.T) {
	f := newShop()
	f.options = func(string, int) string { return "list-changed" }
	p := beginStateless(t, f, func(s *Session, _ *Stateless) { s.times.tick = time.Hour })
	p.greet()
	p.send(legacy("1", "tools/list", "{}"))
	p.answer("1")
	eventually(t, "it is asked again", func() bool { return strings.Count(f.saw("", 0), "tools/list") > 1 })
	for _, id := range []string{"2", "3", "4"} { // each has the background look
		p.send(callOf(id, "echo", "{}"))
		p.answer(id)
	}
	p.nothing()
	if n := strings.Count(f.saw("", 0), "tools/list"); n != 2 {
		t.Errorf("it was asked %d times", n)
	}
}
