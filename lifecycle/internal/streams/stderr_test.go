package streams

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestStderr: for writes of any size, lines arrive whole or are counted, and no write
// waits.
func TestStderr(t *testing.T) {
	t.Parallel()
	for _, piece := range []int{1 << 10, 1000, 77, 300_000} {
		r, w, err := os.Pipe()
		testkit.Must(t, err)
		q := NewStderr(w, nil)
		var all strings.Builder
		const lines = 20_000
		for i := range lines {
			fmt.Fprintf(&all, "line %d of the server's standard error\n", i)
		}
		for s := all.String(); s != ""; {
			n := min(piece, len(s))
			q.Write([]byte(s[:n]))
			s = s[n:]
		}
		ours := map[bool]string{true: "mcp-jail: ours\n"}[piece < 1000] // otherwise the end is the server's
		q.Say(ours)
		read := make(chan string)
		go func() {
			b, _ := io.ReadAll(r)
			read <- string(b)
		}()
		q.Close(testkit.Patience, testkit.Patience)
		w.Close()
		got, dropped := 0, 0
		out := <-read
		note := regexp.MustCompile(`^mcp-jail: (\d+) lines `)
		for line := range strings.Lines(out) {
			switch m := note.FindStringSubmatch(line); {
			case m != nil:
				n, _ := strconv.Atoi(m[1])
				dropped += n
			case strings.HasPrefix(line, "line ") && strings.HasSuffix(line, " of the server's standard error\n"):
				got++
			case line == ours:
			default:
				t.Fatalf("in pieces of %d: %q", piece, line)
			}
		}
		if got+dropped != lines || dropped == 0 || !strings.HasSuffix(out, ours) {
			t.Errorf("in pieces of %d: %d lines and %d dropped", piece, got, dropped)
		}
		r.Close()
	}
}

// TestStderrSlowClient: close waits for a client that reads slowly, also if what it reads makes
// no room in the pipe, of which the kernel frees whole pages.
func TestStderrSlowClient(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	testkit.Must(t, err)
	defer r.Close()
	q := NewStderr(w, nil)
	q.Write([]byte(strings.Repeat("x\n", maxServerStderr/2)))
	const idle = 2 * time.Second
	got := make(chan int)
	go func() {
		n := 0
		for i := 0; ; i++ {
			size := stderrPiece
			if i < 20 {
				time.Sleep(idle / 8)
				if runtime.GOOS == "linux" { // elsewhere UnreadBytes does not tell at the end that writes
					size = 16
				}
			}
			m, err := r.Read(make([]byte, size))
			if n += m; err != nil {
				got <- n
				return
			}
		}
	}()
	q.Close(idle, testkit.Patience)
	w.Close()
	if n := <-got; n != maxServerStderr {
		t.Errorf("%d bytes of %d came", n, maxServerStderr)
	}
}

// TestStderrGivesUp: close does not wait for a client that does not read. It does not
// run beside other tests, since the interrupted write has 50 ms to return.
func TestStderrGivesUp(t *testing.T) {
	r, w, err := os.Pipe()
	testkit.Must(t, err)
	defer r.Close()
	q := NewStderr(w, nil)
	q.Write([]byte(strings.Repeat("x\n", 100_000)))
	if runtime.GOOS == "linux" { // elsewhere a pipe may be smaller
		testkit.Eventually(t, "the pipe is full", func() bool { return UnreadBytes(r) >= 64<<10 })
	}
	q.Close(10*time.Millisecond, testkit.Patience)
	select {
	case <-q.done:
	case <-time.After(testkit.Patience):
		t.Error("the goroutine is left")
	}
}

// TestSayLine: no text of a server, a client or a policy begins a line of its own, or acts on the
// terminal.
func TestSayLine(t *testing.T) {
	r, w, err := os.Pipe()
	testkit.Must(t, err)
	defer r.Close()
	q := NewStderr(w, nil)
	q.SayLine("server x: \x1b]0;T\x07\x1b[2J\r\nmcp-jail: FORGED [mcp-jail] Cause")
	q.Say("mcp-jail: a\nmcp-jail:   \u009b2Jb\n")
	q.Close(time.Second, time.Second)
	w.Close()
	got, err := io.ReadAll(r)
	if want := "mcp-jail: server x: \ufffd\ufffd\ufffd\ufffdmcp-jail: FORGED (mcp-jail] Cause\nmcp-jail: a\nmcp-jail:   \ufffdb\n"; err != nil || string(got) != want {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
}
