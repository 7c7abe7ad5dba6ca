package diagnostics

import (
	"strings"
	"testing"
)

// TestTildes: a "~" in an argument reaches the server as it is written, and the warning says so.
func TestTildes(t *testing.T) {
	for _, tt := range []struct {
		args []string
		real bool
		want string
	}{
		{[]string{"~/docs", "x~", "~u", "a/~/b"}, false, `the server gets "~/docs" as it is written. Write '/home/u/docs' (mcp-jail`},
		{[]string{"--dir=~/a b", "~"}, true, `the server gets "~/a b" as it is written. Write '/home/u/a b' (mcp-jail`},
		{[]string{"/home/u/docs", "-~/x"}, false, ""},
	} {
		ev := evidence("")
		ev.Profile.Argv = append([]string{"node"}, tt.args...)
		ev.Profile.HomePrivate = !tt.real
		if got := Tildes(ev); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%q: %s", tt.args, got)
		}
	}
}
