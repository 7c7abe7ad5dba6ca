package wrapcmd

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
)

func TestClosing(t *testing.T) {
	for fix, want := range map[string]string{
		"":                    "",
		confine.FixNamespaces: "",
		"mount /proc":         "mount /proc",
		`remove these keys, or accept the whole network for this server with waive = ["net"] (--waive net)`: "remove these keys",
		`allow pidfd_getfd, or remove the net rules, or accept it with waive = ["net"] (--waive net)`:       "allow pidfd_getfd, or remove the net rules",
	} {
		if got := closing(confine.Gap{Fix: fix}); got != want {
			t.Errorf("%q: %q", fix, got)
		}
	}
}
