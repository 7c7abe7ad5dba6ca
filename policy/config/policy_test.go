package config

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestNoEffectWhenStateful(t *testing.T) {
	const keys = "warm = 1\n[servers.s.tools.a]\nwarm = 1\n"
	remarks := func(text string) (out []string) {
		p, err := decoded(t, text).Policy("s", "")
		testkit.Must(t, err)
		for _, w := range p.UnusedKeys {
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
