package change

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestInClient: what the user may be asked about in the client. Each thing that may not be has one beside it that may.
func TestInClient(t *testing.T) {
	rules := []policy.NetRule{{Host: "*.ruled.test", Port: 22, Allow: true}, {Host: "denied.test", Port: 22}}
	for words, want := range map[string]bool{
		"--net a.test": true, "--net a.test:8443": false, "--net 8.8.8.8": false, "--net a.localhost": false, "--net x.ruled.test": false, "--net denied.test": false, "--net ruled.test": true,
		"--read /x": true, "--read /x/": false, "--write /x": false, "--execute /x": false, "--deny /x": false, "--env A": false, "--inbound 80": false,
		"--workspace /x": false, "--limit processes=9": false,
	} {
		objects, err := Read(strings.Fields(words))
		if err != nil {
			t.Fatalf("%s: %v", words, err)
		}
		w := Want{Source: Recorded, Object: objects[0]}
		if got := Judge(w, nil, nil).InClient(rules); got != want {
			t.Errorf("%s: %v", words, got)
		}
		if w.Source = Said; Judge(w, nil, nil).InClient(rules) {
			t.Errorf("%s: by the server's words", words)
		}
		if w.Source = Recorded; Judge(w, []policy.Reason{{Kind: policy.WhyInHome}}, nil).InClient(rules) {
			t.Errorf("%s: with a reason against it", words)
		}
	}
}
