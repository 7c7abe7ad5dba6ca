//go:build linux || darwin || freebsd

package lifecycle_test

import (
	"bufio"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/sessiontest"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
)

// ends are the two ends of a client's stdin and stdout.
type ends struct {
	in, out         *os.File // the client's
	ourIn, ourOut   *os.File
	closeIn, closed func() // the client closes its stdin; it dies
}

func endsOf(t *testing.T, kind string) ends {
	t.Helper()
	pair := func() (a, b *os.File) {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		testkit.Must(t, err)
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			syscall.SetNonblock(fd, true)
		}
		return os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	}
	var e ends
	switch kind {
	case "pipes":
		var err, err2 error
		e.ourIn, e.in, err = os.Pipe()
		if e.out, e.ourOut, err2 = os.Pipe(); err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
	case "socket pairs":
		e.ourIn, e.in = pair()
		e.ourOut, e.out = pair()
	case "one socket pair":
		e.ourIn, e.in = pair()
		e.ourOut, e.out = e.ourIn, e.in
	}
	e.closeIn = func() { e.in.Close() }
	if e.in == e.out {
		e.closeIn = func() { syscall.Shutdown(streams.Descriptor(e.in), syscall.SHUT_WR) }
	}
	e.closed = func() { e.in.Close(); e.out.Close() }
	t.Cleanup(func() {
		for _, f := range []*os.File{e.in, e.out, e.ourIn, e.ourOut} {
			f.Close()
		}
	})
	return e
}

// TestHangup: when the client dies, its server gets SIGTERM at once, without a timeout. When the client closes stdin only, the server gets its time.
func TestHangup(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"pipes", "socket pairs", "one socket pair"} {
		play := func(name, server string, want int, leave func(ends)) {
			t.Run(kind+", "+name, func(t *testing.T) {
				e := endsOf(t, kind)
				p := begin(t, &sessiontest.Fake{Server: server}, func(s *session.Session) {
					s.In, s.Out = e.ourIn, e.ourOut
					session.TimesOf(s).Term, session.TimesOf(s).Kill = time.Hour, time.Hour
				})
				if server != "unreading" {
					io.WriteString(e.in, sessiontest.Initialize+"\n")
					if line, err := bufio.NewReader(e.out).ReadString('\n'); err != nil || !strings.Contains(line, `"id":0`) {
						t.Fatalf("%q, %v", line, err)
					}
				}
				leave(e)
				if status, _ := p.Ended(); status != want {
					t.Errorf("status %d, want %d", status, want)
				}
			})
		}
		const term = 128 + int(syscall.SIGTERM)
		play("it dies", "deaf", term, func(e ends) { e.closed() })
		play("it dies, and its input stays unread", "unreading", term, func(e ends) {
			e.in.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
			go func() { io.WriteString(e.in, strings.Repeat(sessiontest.Initialize+"\n", 20_000)) }()
			time.Sleep(100 * time.Millisecond) // most of it
			e.closed()
		})
		play("it closes stdin, and dies later", "deaf", term, func(e ends) {
			e.closeIn()
			time.Sleep(100 * time.Millisecond)
			e.closed()
		})
		play("it closes stdin", "tidy", 7, func(e ends) { e.closeIn() })
		if kind == "pipes" {
			continue
		}
		play("it closes stdout, a socket", "deaf", term, func(e ends) { e.out.Close() })
	}
}

// TestHangupOfAFile: stdin is a regular file, which has no other end. A failed write after
// the end of stdin ends the session.
func TestHangupOfAFile(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/requests"
	testkit.Must(t, os.WriteFile(file, []byte(sessiontest.Initialize+"\n"), 0o600))
	in, err := os.Open(file)
	testkit.Must(t, err)
	defer in.Close()
	p := begin(t, &sessiontest.Fake{Server: "chatty"}, func(s *session.Session) {
		s.In = in
		session.TimesOf(s).Term, session.TimesOf(s).Kill = time.Hour, time.Hour
	})
	p.Line()
	p.Out.Close()
	if status, _ := p.Ended(); status != 128+int(syscall.SIGTERM) {
		t.Errorf("status %d", status)
	}
}
