package mcpproxy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// smallFrames has frames of 512 KiB go to a file. It is more than a kept buffer and one read.
func smallFrames(t *testing.T) {
	old := maxInMemory
	maxInMemory = 512 << 10
	t.Cleanup(func() { maxInMemory = old })
}

// noFiles removes the directory for temporary files.
func noFiles(t *testing.T) {
	t.Helper()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, filepath.Join(t.TempDir(), "absent"))
	}
}

// TestSpillWithoutAFile checks that a large frame stays in memory when no file can be
// made.
func TestSpillWithoutAFile(t *testing.T) {
	smallFrames(t)
	noFiles(t)
	relays(t, strings.Repeat("x", maxInMemory), strings.Repeat("y", 3*maxInMemory+1))
}

// relays reads and sends frames with these texts whole, detached and as a batch.
func relays(t *testing.T, texts ...string) {
	t.Helper()
	var in string
	for _, text := range texts {
		in += `{"result":"` + text + `","id":7}` + "\n" + `[{"id":1,"pad":"` + text + `"}, {"id":2}]` + "\n{}\n"
	}
	r := NewReader(strings.NewReader(in), 0)
	var out, again, parts bytes.Buffer
	w := NewWriter(&out)
	for {
		f, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil || f.Oversized || f.Err != nil {
			t.Fatalf("%+v, %v", f, err)
		}
		d := f.Detach()
		if err := w.Send(f); err != nil {
			t.Error(err)
		}
		if err := NewWriter(&again).Send(d); err != nil {
			t.Error(err)
		}
		messages, _ := d.Split()
		for _, m := range messages {
			if err := NewWriter(&parts).Send(m); err != nil {
				t.Error(err)
			}
			m.Close()
		}
	}
	if out.String() != in || again.String() != in {
		t.Errorf("%d bytes became %d and %d", len(in), out.Len(), again.Len())
	}
	if want := strings.NewReplacer("[{", "{", "}, {", "}\n{", "}]", "}").Replace(in); parts.String() != want {
		t.Errorf("the messages have %d bytes, want %d: %.80q", parts.Len(), len(want), parts.String())
	}
}

// TestSpillRetreats: the bytes of a file that accepts no more of them move to memory.
func TestSpillRetreats(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	testkit.Must(t, os.WriteFile(name, []byte("abcdef"), 0o600))
	file, err := os.Open(name) // it cannot be written
	testkit.Must(t, err)
	s := &spill{file: file, end: 6}
	for at, text := range map[int64]string{2: "CD", 6: "gh"} {
		if n, err := s.WriteAt([]byte(text), at); err != nil || n != len(text) {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if got, err := io.ReadAll(io.NewSectionReader(s, 0, s.end)); err != nil || string(got) != "abCDefgh" || s.file != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := file.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is still open: %v", err)
	}
}

// TestReplay checks that recorded frames are written unchanged between two frames.
func TestReplay(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	w.Send(frameOf(t, "{}"))
	w.Replay([]byte("{\"a\":1}\r\n{}"))
	w.Replay(nil)
	w.Inject([]byte("[]"))
	if out.String() != "{}\n{\"a\":1}\r\n{}\n[]\n" {
		t.Errorf("got %q", out.String())
	}
}

// TestInjectBehindASpill injects after a last frame without a line end that is too large
// for memory.
func TestInjectBehindASpill(t *testing.T) {
	smallFrames(t)
	last := `{"id":1,"result":"` + strings.Repeat("x", maxInMemory) + `"}`
	for in, want := range map[string]string{last: last + "\n[]\n", last + "\n": last + "\n[]\n"} {
		var out bytes.Buffer
		w := NewWriter(&out)
		f, _ := NewReader(strings.NewReader(in), 0).Next()
		w.Send(f)
		w.Inject([]byte("[]"))
		if out.String() != want {
			t.Errorf("got %d bytes that end with %q, want %d", out.Len(), out.String()[out.Len()-10:], len(want))
		}
	}
}

// alone is a stream that fails if a write begins during another one.
type alone struct{ busy atomic.Bool }

func (a *alone) Write(b []byte) (int, error) {
	if a.busy.Swap(true) {
		return 0, errors.New("a write during another one")
	}
	runtime.Gosched() // to a goroutine that could write now
	a.busy.Store(false)
	return len(b), nil
}

// TestWriterWritesAlone: while the writer writes one frame, no other goroutine writes.
func TestWriterWritesAlone(t *testing.T) {
	for what, write := range map[string]func(*Writer) error{
		"a frame":           func(w *Writer) error { return w.Send(Parse([]byte("{}\n"))) },
		"our own message":   func(w *Writer) error { return w.Inject([]byte("{}")) },
		"recorded frames":   func(w *Writer) error { return w.Replay([]byte("{}")) },
		"the end of a line": func(w *Writer) error { return errors.Join(w.Replay([]byte("{}")), w.EndLine()) },
	} {
		w := NewWriter(&alone{})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if err := write(w); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		all.Wait()
	}
}

func TestSendGone(t *testing.T) {
	f, _ := NewReader(strings.NewReader(`{"id":1}`+"\n{}\n"), 5).Next()
	var out bytes.Buffer
	w := NewWriter(&out)
	if err := w.Send(f); err != ErrGone {
		t.Errorf("an oversized frame is sent with %v", err)
	}
	if w.Send(Parse([]byte("{}\n"))) != nil || out.String() != "{}\n" {
		t.Errorf("after it %q is sent", out.String())
	}
}
