package inspect

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestPassingWarnings: a tool that reaches a host is warned about if a process that reads more than
// it may leave something where it reads.
func TestPassingWarnings(t *testing.T) {
	type entries map[string]policy.Rights
	profile := func(host bool, of entries) *policy.Profile {
		p := &policy.Profile{}
		for path, rights := range of {
			p.Entries = append(p.Entries, policy.Entry{Path: path, Kind: policy.KindDir, Rights: rights, Origin: policy.OriginRule})
		}
		p.Entries = append(p.Entries,
			policy.Entry{Path: "/home/u/.local/s", Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginHome, Ephemeral: true},
			policy.Entry{Path: "/usr", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginBaseline})
		slices.SortFunc(p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
		if host {
			p.Net = []policy.NetRule{{Host: "api.test", Allow: true}}
		}
		return p
	}
	const rw = policy.Read | policy.Write
	for _, c := range []struct {
		about      string
		host       bool
		tool, peer entries
		env, want  string
	}{
		{"nothing in common", true, entries{}, entries{"/w": rw}, "", ""},
		{"a place of the tool, in what the peer writes", true, entries{"/w/out": policy.Read}, entries{"/w": rw}, "", "reads /w, and can leave it in /w/out"},
		{"the same by the tool's other right", true, entries{"/w/out": policy.Update}, entries{"/w": rw}, "", ""},
		{"a place of the peer, in what the tool reads", true, entries{"/w": policy.Read}, entries{"/w/out": rw, "/log": policy.Read}, "", "reads /log, and can leave it in /w/out"},
		{"what is hidden from the tool", true, entries{"/w": policy.Read, "/w/keys": 0}, entries{"/w": rw}, "", "reads /w/keys, and can leave it in /w"},
		{"what is hidden from both", true, entries{"/w": policy.Read, "/w/keys": 0}, entries{"/w": rw, "/w/keys": 0}, "", ""},
		{"a variable", true, entries{"/w": policy.Read}, entries{"/w": rw}, "TOKEN", "reads the variable TOKEN"},
		{"no more than the tool", true, entries{"/w": rw}, entries{"/w": rw}, "", ""},
		{"the peer writes nothing", true, entries{"/w/out": policy.Read}, entries{"/w": policy.Read}, "", ""},
		{"no host", false, entries{"/w/out": policy.Read}, entries{"/w": rw}, "", ""},
	} {
		tool, other := profile(c.host, c.tool), profile(false, c.peer)
		if c.env != "" {
			other.Env = []policy.Variable{{Name: c.env, Secret: true}}
		}
		got := passingWarnings(tool, []peer{{"itself", tool}, {"the other", other}})
		if len(got) > 1 || (len(got) == 1) != (c.want != "") || len(got) == 1 && !strings.Contains(got[0].Message, c.want) {
			t.Errorf("%s: %v, want %q", c.about, got, c.want)
		}
	}
}
