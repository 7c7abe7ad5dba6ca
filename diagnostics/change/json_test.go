package change

import (
	"encoding/json"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestKept: a record gives back what was wanted, and no verdict: mcp-jail decides anew when it reads one.
func TestKept(t *testing.T) {
	reasons := []policy.Reason{{Kind: policy.WhyShared}}
	for _, o := range []Object{
		Path("~/a b", policy.Read), Path("/x/", policy.Read|policy.Write), Path("/x", policy.Read|policy.Write|policy.Execute), {Net: policy.NetRule{Host: "a.test", Port: 8080, Allow: true}},
		{Env: "A"}, {Inbound: 80}, {Program: "git"}, {Setting: Setting{"preset", "x"}}, {Setting: Setting{StartupTimeout, "60"}},
	} {
		for _, from := range []Source{Said, Recorded} {
			in := Judge(Want{Tool: "t", Source: from, Object: o, Besides: true}, reasons, nil)
			data, err := json.Marshal(in)
			testkit.Must(t, err)
			var out Proposal
			testkit.Must(t, json.Unmarshal(data, &out))
			if !out.Object.Same(o) || out.Tool != "t" || out.Source != from || !out.Besides || out.Verdict() != Never || out.Reasons != nil {
				t.Errorf("%s is read as %+v", data, out)
			}
		}
	}
}

// TestForged: what another program writes into a record makes a change neither that of the user nor decided.
func TestForged(t *testing.T) {
	for source, want := range map[string]Source{"said": Said, "recorded": Recorded, "typed": Said, "entry": Said, "foreign": Said, "": Said} {
		var p Proposal
		testkit.Must(t, json.Unmarshal([]byte(`{"source": "`+source+`", "words": ["--read", "~/.ssh"], "verdict": "fine"}`), &p))
		if p.Source != want || p.Verdict() != Never || p.IsOpen() {
			t.Errorf("%q: %+v", source, p)
		}
		if v := Judge(p.Want, []policy.Reason{{Kind: policy.WhySensitive}}, nil).Verdict(); v > Apart {
			t.Errorf("%q: verdict %d", source, v)
		}
	}
	for _, bad := range []string{`{"words": ["--waive", "net"]}`, `{"words": ["--read"]}`, `{"words": ["--net", "a b"]}`, `{"words": ["--read", "/a", "--read", "/b"]}`, `{}`} {
		var p Proposal
		if err := json.Unmarshal([]byte(bad), &p); err != nil || !p.IsZero() {
			t.Errorf("%s is read as %+v, %v", bad, p, err)
		}
	}
}
