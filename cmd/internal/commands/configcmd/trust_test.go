package configcmd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestTrustFlood checks that what gives no right cannot push what gives some off the screen, and that
// a summary which is longer than a screen says so at its end.
func TestTrustFlood(t *testing.T) {
	server := func(name string, gains, rest int) config.ServerChange {
		s := config.ServerChange{Server: name, Starts: []string{"x"}}
		for i := range gains {
			s.Changes = append(s.Changes, config.Change{Text: fmt.Sprintf("gain %d", i), Loosens: true})
		}
		for i := range rest {
			s.Changes = append(s.Changes, config.Change{Text: fmt.Sprintf("refuses %d %s", i, strings.Repeat("x", 5000))})
		}
		return s
	}
	last := func(text string) string {
		lines := strings.Split(text, "\n")
		return strings.Join(lines[max(0, len(lines)-screenLines-3):], "\n")
	}
	text := changeSummary([]config.ServerChange{server("a", 1, 5000)})
	if !strings.Contains(last(text), "gain 0") || len(text) > 2000 || !strings.Contains(text, "and 4992 more") {
		t.Errorf("5000 lines that give no right:\n%.3000s", text)
	}
	var many []config.ServerChange
	for i := range 100 {
		many = append(many, server(fmt.Sprint("s", i), 3, 1))
	}
	if text := changeSummary(many); !strings.Contains(last(text), "300 things to 100 servers") {
		t.Errorf("100 servers end with:\n%s", last(text))
	}
	if text := changeSummary([]config.ServerChange{server("a", 3, 3)}); strings.Contains(text, "In all") {
		t.Errorf("a short summary:\n%s", text)
	}
}

// TestHarms: what trust says of the rules of a project's file.
func TestHarms(t *testing.T) {
	host, err := hostfs.LocalHost()
	if err != nil {
		t.Fatal(err)
	}
	p := &policy.Policy{
		Fs:  []policy.FsRule{{Path: ".", Read: true}, {Path: "~/.npm", Create: true}, {Path: "~/.bashrc", Update: true}, {Path: "~/a/b/c", Read: true}, {Path: "~/.ssh", Read: true}, {Path: "/", Where: "a denial"}},
		Net: []policy.NetRule{{Host: "10.0.0.1", Allow: true}, {Host: "a.example", Allow: true}, {Host: "10.0.0.2"}},
		Env: []policy.EnvRule{{Name: "A_TOKEN", Read: true}, {Name: "LANGUAGE_OF_IT", Read: true}},
	}
	var got []string
	for _, w := range harms(p, host) {
		got = append(got, strings.Fields(w.Message)[1])
	}
	if want := "~/.npm ~/.bashrc 10.0.0.1 A_TOKEN"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
