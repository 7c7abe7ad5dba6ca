package resolve

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestCheckFiles checks that relative rules are passed over where the directory is not known. TestProfilesOfHosts holds that the
// warnings and errors are those of a start.
func TestCheckFiles(t *testing.T) {
	h := newFake(aSystem, "d /home/u/repo/sub", "d /home/u/repo/.vscode", "d /home/u/tools", "d /home/u/.npm", "d /home/u/.local/state/mcp-jail").host()
	for _, c := range []struct {
		dir     string
		rules   string // none: the default policy
		want    string // the codes
		granted string
	}{
		{"/home/u/repo", "", "", "/home/u/repo"},
		{"", "", "", ""},
		{"/home/u/repo", "sub", "", "/home/u/repo/sub"},
		{"", "sub ~/tools", "", "/home/u/tools"},
		{"", "/home/u/repo/.vscode", "protected-granted", "/home/u/repo/.vscode"},
		{"", "~/.npm", "deciding-granted", "/home/u/.npm"},
		{"", "~/.local/state/mcp-jail", "sensitive-granted own-granted", "/home/u/.local/state/mcp-jail"},
		{"", "~/gone", "missing-path", ""},
	} {
		h.Dir = c.dir
		p := &policy.Policy{Server: "s", Command: "server", Default: c.rules == "", Limits: policy.DefaultLimits}
		if p.Default {
			p.Fs = []policy.FsRule{policy.WorkspaceRule("write", policy.DefaultSource)}
		}
		for _, at := range strings.Fields(c.rules) {
			p.Fs = append(p.Fs, policy.FsRule{Path: at, Read: true, Update: true, Where: "preset x:1", Preset: true})
		}
		placed, ws, err := CheckFiles(p, h)
		var at []string
		for _, r := range placed {
			at = append(at, r.At)
		}
		if err != nil || codes(ws) != c.want || strings.Join(at, " ") != c.granted {
			t.Errorf("%q, %q: %s, %v, %v", c.dir, c.rules, codes(ws), at, err)
		}
	}
}
