package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func TestSecretsStayOut(t *testing.T) {
	const secret = "ghp_0123456789abcdef"
	ev := evidence("EACCES: permission denied, open '/data/" + secret + "/x' while GITHUB_TOKEN=" + secret)
	ev.Exists = nil
	ev.Stderr = []string{"token " + secret, "https://u:" + secret + "@example.org/"}
	ev.Denials = []policy.Denial{{Axis: policy.AxisNet, Operation: "connect", Target: "https://example.org/?t=" + secret}}
	d := Diagnose(ev)
	r, err := Record{Diagnoses: []Diagnosis{d}, Denials: d.Denials}.Encode()
	testkit.Must(t, err)
	for name, s := range map[string]string{"text": d.Text(), "frame": string(d.ErrorFrame([]byte("1"))), "block": string(d.ResultBlock()), "record": string(r)} {
		if strings.Contains(s, secret) {
			t.Errorf("the %s holds a secret:\n%s", name, s)
		}
	}
	if strings.Contains(strings.Join(d.Words, "\n"), "redacted") {
		t.Errorf("a rule for a name that is not the name: %v", d.Words)
	}
}
