package mcpproxy

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

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

// TestSpillRetreats checks a file that accepts no more bytes: it keeps those that it has,
// and gives up those that are to be overwritten.
func TestSpillRetreats(t *testing.T) {
	s := newSpill()
	defer s.release()
	name := filepath.Join(t.TempDir(), "file")
	file, err := os.Create(name)
	testkit.Must(t, err)
	s.File.Close()
	s.File = file
	var want []byte
	write := func(at int, text string) {
		t.Helper()
		if n, err := s.WriteAt([]byte(text), int64(at)); err != nil || n != len(text) {
			t.Fatalf("%d, %v", n, err)
		}
		want = append(want[:at], append([]byte(text), want[min(len(want), at+len(text)):]...)...)
	}
	check := func() {
		t.Helper()
		for _, from := range []int{0, 1, pieceSize - 1, pieceSize, 2*pieceSize + 3, len(want)} {
			got, err := io.ReadAll(io.NewSectionReader(s, int64(from), s.end-int64(from)))
			if err != nil || !bytes.Equal(got, want[from:]) {
				t.Errorf("from %d: %d bytes, want %d, %v", from, len(got), len(want)-from, err)
			}
		}
	}
	write(0, strings.Repeat("a", 2*pieceSize+10))
	check()
	file.Close()
	if s.File, err = os.Open(name); err != nil { // from now on it cannot be written
		t.Fatal(err)
	}
	write(len(want), strings.Repeat("b", 2*pieceSize))
	check()
	if s.fileEnd != 2*pieceSize+10 {
		t.Errorf("the file has %d bytes", s.fileEnd)
	}
	write(2*pieceSize+5, "cccccccccc") // over the edge
	check()
	write(pieceSize-3, "dddddd")
	check()
	if s.fileEnd != pieceSize-3 {
		t.Errorf("the file has %d bytes", s.fileEnd)
	}
	write(5, "e")
	write(len(want), "f")
	check()
}
