//go:build linux

package conformance

import (
	"cmp"
	"path/filepath"
	"strings"
	"testing"
)

// TestComparisonsFail puts a relay with one fault before the server, and expects every kind
// of comparison to report that fault. A relay without a fault must pass.
func TestComparisonsFail(t *testing.T) {
	s := here(t)
	odd, goSDK := serverNamed(t, "odd"), serverNamed(t, "go-sdk")

	transcript := func(name string, how side) func(*testing.T) []string {
		return func(t *testing.T) []string {
			tr, err := readTranscript(filepath.Join("transcripts", name+".txt"), s.work)
			must(t, err)
			return compareReplays(replayOn(t, s, tr, odd, plain), replayOn(t, s, tr, odd, how))
		}
	}
	library := func(name string, sv server, how side) func(*testing.T) []string {
		return func(t *testing.T) []string {
			for _, c := range clients {
				if c.name == name {
					return differences("", report(t, s, c, sv, plain), report(t, s, c, sv, how))
				}
			}
			t.Fatalf("there is no client %q", name)
			return nil
		}
	}
	for _, c := range []struct {
		name    string
		compare func(*testing.T) []string
		want    string // a part of the reported difference; empty: no difference
	}{
		{"transcript, in order", transcript("odd-forms", lossy("none")), ""},
		{"transcript, recoded", transcript("odd-modern", lossy("recode")), "stdout differs"},
		{"transcript, without notifications", transcript("odd-hurry", lossy("drop")), "stdout differs"},
		{"transcript, another status", transcript("odd-exit-3", lossy("status")), "exit status 0, want 3"},
		{"client, in order", library("mcpgo legacy", odd, lossy("none")), ""},
		{"client, without notifications", library("mcpgo legacy", goSDK, lossy("drop")), ".heard.notifications/message"},
		{"client, question marks", library("ts1", odd, lossy("latin")), "? ??"},
	} {
		if !strings.HasPrefix(c.name, "transcript") && !longForms() {
			continue // it starts node, or a client that plays a long session
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			faults := strings.Join(c.compare(t), "\n")
			if c.want == "" && faults != "" || !strings.Contains(faults, c.want) {
				t.Errorf("faults %q, want %q", clip([]byte(faults)), c.want)
			}
			t.Logf("%.400s", faults)
		})
	}
}

// TestAdditions shows that withoutAdditions removes only what the reference promises: the
// last block of a result with isError, if the jail refused nothing.
func TestAdditions(t *testing.T) {
	const block = `,{"type":"text","text":"\n[mcp-jail] \"x\\\""}`
	for _, c := range []struct{ in, want string }{
		{`{"result":{"content":[{"type":"text","text":"a"}` + block + `],"isError":true},"id":1}`, `{"result":{"content":[{"type":"text","text":"a"}],"isError":true},"id":1}`},
		{`{"result":{"_meta":{"a":1},"content":[{}` + block + `],"isError":true},"id":1}`, `{"result":{"_meta":{"a":1},"content":[{}],"isError":true},"id":1}`},
		{`{"result":{"content":[{},{"type":"text","text":"[mcp-jail] x"}],"isError":true},"id":1}`, ""},
		{`{"result":{"content":[{}` + block + `],"isError":true,"_meta":{"dev.mcp-jail/denials":[]}},"id":1}`, ""},
		{`{"result":{"content":[{}` + block + `]},"id":1}`, ""},
		{`{"result":{"content":[{}` + block + block + `],"isError":true},"id":1}`, ""},
		{`{"result":{"content":[{}` + block + `],"isError":true,"_meta":{"dev.mcp-jail/denials":[{}]}},"id":1}`, ""},
	} {
		want := cmp.Or(c.want, c.in)
		if got := string(withoutAdditions([]byte(c.in))); got != want {
			t.Errorf("%s: got %s, want %s", c.in, got, want)
		}
	}
}
