package wrapping

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestKeysNotRead: which keys that a client does not read are named, in which format ever.
func TestKeysNotRead(t *testing.T) {
	for _, c := range testkit.Table[struct{ file, text, want string }](t, "keys.txt") {
		h := newHost(t)
		path := filepath.Join(h.Home, c.file)
		write(t, path, c.text)
		for _, sel := range []Selection{{Files: []string{path}}, {}} {
			files, err := Find(h, sel)
			must(t, err)
			got := ""
			if len(files) > 0 && files[0].Err != nil {
				got = files[0].Err.Error()
			}
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("%s %s: %q, want %q", c.file, c.text, got, c.want)
			}
		}
	}
}
