//go:build linux

package conformance

import (
	"bytes"
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
	inspector := func(how side) func(*testing.T) []string {
		return func(t *testing.T) []string {
			want, got := inspect(t, s, odd, plain, []string{"tools/list"}), inspect(t, s, odd, how, []string{"tools/list"})
			if bytes.Equal(want.stdout, got.stdout) {
				return nil
			}
			return []string{difference(want.stdout, got.stdout)}
		}
	}
	official := func(how side) func(*testing.T) []string {
		return func(t *testing.T) []string {
			return compareVerdicts(verdicts(t, s, suites[0], goSDK, plain), verdicts(t, s, suites[0], goSDK, how))
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
		{"inspector, in order", inspector(lossy("none")), ""},
		{"inspector, question marks", inspector(lossy("latin")), "?n?code"},
		{"suite, in order", official(lossy("none")), ""},
		{"suite, without notifications", official(lossy("drop")), "tools-call-with-progress"},
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
		want, frames := c.want, 1
		if want == "" {
			want, frames = c.in, 0
		}
		if got, n := withoutAdditions([]byte(c.in)); string(got) != want || n != frames {
			t.Errorf("%s: got %s and %d, want %s", c.in, got, n, want)
		}
	}
}
