package object

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestCopyContent copies files with a hole, and files that are shorter than they were.
func TestCopyContent(t *testing.T) {
	text := append(make([]byte, 2*MinClone), "the end"...)
	for name, c := range map[string]struct {
		content []byte
		size    int64
		copied  int64
	}{
		"small":             {[]byte("text"), 4, 4},
		"empty":             {nil, 0, 0},
		"a hole":            {text, int64(len(text)), int64(len(text))},
		"shorter":           {[]byte("text"), 10, 4},
		"shorter and large": {text, 4 * MinClone, 4 * MinClone}, // what is missing counts as a hole
	} {
		t.Run(name, func(t *testing.T) {
			open := func(name string) *os.File {
				f, err := os.Create(filepath.Join(t.TempDir(), name))
				testkit.Must(t, err)
				t.Cleanup(func() { f.Close() })
				return f
			}
			from, to := open("from"), open("to")
			if i := bytes.IndexFunc(c.content, func(r rune) bool { return r != 0 }); i >= 0 {
				if _, err := from.WriteAt(c.content[i:], int64(i)); err != nil {
					t.Fatal(err)
				}
			}
			buf := make([]byte, 64<<10)
			n, err := CopyContent(int(to.Fd()), 3, int(from.Fd()), 0, c.size, buf)
			if err != nil || n != c.copied {
				t.Fatalf("%d bytes, %v", n, err)
			}
			size := min(n, int64(len(c.content)))
			if !EqualContent(int(from.Fd()), 0, int(to.Fd()), 3, size, buf) {
				t.Error("the copy is not equal")
			}
			if size > 0 && EqualContent(int(from.Fd()), 0, int(to.Fd()), 2, size, buf) {
				t.Error("the control: another part is equal")
			}
		})
	}
}
