package mcpproxy

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestDetach checks that a detached frame keeps its envelopes, edits and bytes after the
// reader has reused its buffers.
func TestDetach(t *testing.T) {
	long := strings.Repeat("x", maxInMemory)
	for _, in := range []string{
		`{"id":"a","method":"tools/call","params":{"name":"n","requestId":5,"_meta":{"progressToken":"t","` + VersionKey + `":"v","dev.mcp-jail/x":1}}}` + "\r\n",
		`[{"id":"","method":""},{"id":2,"error":{"code":-1,"data":{"dev.mcp-jail/x":1}}}]` + "\n",
		`{"id":7,"method":"m","params":{"pad":"` + long + `","_meta":{}}}` + "\n",
		"no JSON\n",
	} {
		for _, edited := range []bool{false, true} {
			next := `{"id":"` + strings.Repeat("#", 40) + `"}` + strings.Repeat(" ", min(len(in), 1000))
			r := NewReader(io.MultiReader(strings.NewReader(in), strings.NewReader(next)), 0)
			f, err := r.Next()
			testkit.Must(t, err)
			if edited && len(f.Messages) > 0 {
				e := &f.Messages[0]
				f.Replace(e.IDAt, []byte("99"))
				f.Cut(e.Reserved, &e.ParamsMeta)
				f.AddMember(&e.ParamsMeta, "added", []byte("1"))
			}
			before, want := says(f), sent(t, f)
			d := f.Detach()
			if got := sent(t, f); got != want || f.Detach() == d || d.Detach() != d {
				t.Errorf("%.80s: the frame itself is now %.80s", in, got)
			}
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
			if got := sent(t, d); got != want || says(d) != before {
				t.Errorf("%.80s: sent as %.80s, with %s, and it was %s", in, got, says(d), before)
			}
			d.AddMember(&Span{Start: 0, End: d.Size, Kind: '{'}, "later", []byte("1"))
			d.Close()
			d.Close()
			if err := NewWriter(io.Discard).Send(d); errors.Is(err, ErrGone) != (d.Bytes() == nil) {
				t.Errorf("%.80s: closed, it is sent with %v", in, err)
			}
		}
	}
}

// TestDetachedSpill checks that the last user closes the file, in either order.
func TestDetachedSpill(t *testing.T) {
	in := `{"id":1,"pad":"` + strings.Repeat("x", maxInMemory) + `"}` + "\n{}\n{}\n"
	for _, early := range []bool{true, false} {
		r := NewReader(strings.NewReader(in), 0)
		f, _ := r.Next()
		file := f.spill.file
		d := f.Detach()
		if early {
			d.Close()
		} else {
			r.Next()
		}
		if _, err := file.Stat(); err != nil {
			t.Errorf("closed too early: %v", err)
		}
		if early {
			r.Next()
		} else {
			d.Close()
		}
		if _, err := file.Stat(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("still open: %v", err)
		}
	}
}
