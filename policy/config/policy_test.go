package config

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestToolWarm checks that a tool's own number of warm workers goes before the server's,
// that the later layer wins, and that encoding the configuration changes nothing.
func TestToolWarm(t *testing.T) {
	const first = `[servers.s]
command = "x"
stateful = false
warm = 2
[servers.s.tools.a]
warm = 5
[[servers.s.tools.a.access.fs]]
path = "."
read = true
[servers.s.tools.b]
warm = 0
`
	c := decoded(t, first)
	later, problems := decodeLayer([]byte("[servers.s.tools.a]\nwarm = 7\n[[servers.s.tools.c.access.fs]]\npath = \".\"\nread = true\n"), "later")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	c.overlay(later)
	for _, c := range []*Config{c, decoded(t, string(c.Encode()))} {
		for tool, want := range map[string]int{"a": 7, "b": 0, "c": 2, "unknown": 2} {
			if p, err := c.Policy("s", tool); err != nil || p.Warm != want {
				t.Errorf("tool %s: warm = %v, want %d (%v)", tool, p.Warm, want, err)
			}
		}
	}
	for _, value := range []string{"-1", "65", "true"} {
		if _, err := Decode([]byte(first+"[servers.s.tools.d]\nwarm = "+value+"\n"), "f"); err == nil || !strings.HasPrefix(err.Error(), "f:13: servers.s.tools.d.warm") {
			t.Errorf("warm = %s: %v", value, err)
		}
	}
}

func TestNoEffectWhenStateful(t *testing.T) {
	const keys = "warm = 1\n[servers.s.tools.a]\nwarm = 1\n"
	remarks := func(text string) (out []string) {
		p, err := decoded(t, text).Policy("s", "")
		testkit.Must(t, err)
		for _, w := range p.Remarks() {
			out = append(out, w.String())
		}
		return out
	}
	want := []string{
		`f:1: warm has no effect: server "s" is stateful, so one process serves all calls`,
		`f:4: tools.a.warm has no effect: server "s" is stateful, so one process serves all calls`,
	}
	if got := remarks("[servers.s]\ncommand = \"x\"\n" + keys); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := remarks("[servers.s]\ncommand = \"x\"\nstateful = false\n" + keys); got != nil {
		t.Errorf("of a stateless server: %q", got)
	}
}

func decoded(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Decode([]byte(text), "f")
	testkit.Must(t, err)
	return c
}

const api = "[servers.s]\ncommand = \"server\"\n[[servers.s.access.net]]\nhost = \"api.example\"\nallow = true\nsecret = "
