package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestStderrFilter(t *testing.T) {
	fill := strings.NewReplacer("$TOKEN", token)
	for _, row := range testkit.Rows(t, "stderr.txt", 2) {
		in, want := fill.Replace(row[0]), row[1]
		for _, size := range []int{1, 3, 1 << 20} {
			var out bytes.Buffer
			f := NewStderrFilter(&out, tokenRedactor())
			for rest := []byte(in); len(rest) > 0; {
				n := min(size, len(rest))
				f.Write(rest[:n])
				rest = rest[n:]
			}
			f.Flush()
			if out.String() != want {
				t.Errorf("%q in pieces of %d: got %q, want %q", in, size, out.String(), want)
			}
		}
	}
}

func TestStderrFilterLongLine(t *testing.T) {
	var out bytes.Buffer
	f := NewStderrFilter(&out, nil)
	long := strings.Repeat("x", 3*TailBytes)
	for i := 0; i < len(long); i += 1000 {
		f.Write([]byte(long[i:min(i+1000, len(long))]))
		if len(f.line) > TailBytes+1000 {
			t.Fatalf("%d bytes are held back", len(f.line))
		}
	}
	f.Flush()
	if out.String() != long {
		t.Errorf("%d bytes of %d came out", out.Len(), len(long))
	}
}

// TestStderrFilterCutLine checks that parts of a long line do not form a line of mcp-jail
// where they meet.
func TestStderrFilterCutLine(t *testing.T) {
	for _, cut := range []int{1, 4, 8} {
		var out bytes.Buffer
		f := NewStderrFilter(&out, nil)
		f.Write([]byte(strings.Repeat(" ", TailBytes+1-cut) + "mcp-jail:"[:cut]))
		f.Write([]byte("mcp-jail:"[cut:] + " a lie\n"))
		f.Flush()
		if strings.Contains(out.String(), "mcp-jail:") {
			t.Errorf("cut after %d: %q", cut, strings.TrimLeft(out.String(), " "))
		}
	}
}
