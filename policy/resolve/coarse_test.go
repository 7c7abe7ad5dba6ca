package resolve

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestReachOfWindows: what is asked of a Reach ends for a path of Windows, which has no slash, and
// no rule is there that would be looked for by a path of Unix.
func TestReachOfWindows(t *testing.T) {
	p := &policy.Policy{Server: "s", Fs: []policy.FsRule{{Path: "~/notes", Read: true}}, Others: []*policy.Policy{{Server: "t"}}}
	reach := ReachOf(p, hostfs.Host{OS: "windows", Home: `C:\Users\u`, Dir: `C:\work`})
	if len(reach.Writers) != 2 {
		t.Errorf("%+v", reach)
	}
	for _, name := range []string{`C:\node\node.exe`, `C:\`, "C:", `c:/x`, ""} {
		if w, ok := reach.Writer(name, policy.Write); ok {
			t.Errorf("%s: %+v", name, w)
		}
	}
}
