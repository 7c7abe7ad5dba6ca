package clients

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestByName tests which words find which client, and what is proposed for the others.
func TestByName(t *testing.T) {
	for word, want := range map[string]string{
		"claude-code": "claude-code", "Claude Code": "claude-code", "CLAUDE_CODE": "claude-code", "VS Code": "vscode", "code": "vscode",
		"Visual Studio Code": "vscode", "q": "amazon-q", "lmstudio": "lm-studio", "Gemini CLI": "gemini", "cn": "continue", " zed ": "zed",
	} {
		testkit.Equal(t, word, testkit.Get(ByName(word))(t).Name, want)
	}
	for word, want := range map[string]string{
		"claude": "claude-desktop claude-code", "cursr": "cursor", "codx": "codex", "desktop": "claude-desktop", "vs": "vscode", "studio": "lm-studio",
		"opencod": "opencode", "windsrf": "windsurf", "lm": "lm-studio", "xyzzy": "", "": "", "z": "zed", strings.Repeat("claude", 1000): "",
	} {
		c, err := ByName(word)
		var unknown *UnknownError
		if !errors.As(err, &unknown) || c.Name != "" || strings.Join(unknown.Near, " ") != want {
			t.Errorf("%.20q: %q, %v; want %q", word, c.Name, err, want)
		}
		if err != nil && (want == "") != strings.Contains(err.Error(), "mcp-jail knows claude-desktop, ") {
			t.Errorf("%.20q: %v", word, err)
		}
	}
}

// TestAll tests what must hold for every client.
func TestAll(t *testing.T) {
	typed := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	owner := map[string]string{}
	for _, c := range All() {
		for _, word := range slices.Concat([]string{c.Name}, c.Aliases) {
			if !typed.MatchString(word) || owner[word] != "" {
				t.Errorf("%s: the name %q is not one to type, or is that of %s", c.Name, word, owner[word])
			}
			owner[word] = c.Name
		}
		if c.Title == "" || c.Reload == "" || c.Dir == "" || len(c.Places) == 0 || len(c.Shapes) == 0 {
			t.Errorf("%s: something is not described", c.Name)
		}
		known := map[string]bool{}
		for _, p := range c.Places {
			for i, file := range []string{p.Linux, p.MacOS, p.Windows} {
				if place := fmt.Sprint(i, p.Scope, file, p.Moves); file != "" && known[place] {
					t.Errorf("%s: two places %s at %s", c.Name, p.Scope, file)
				} else {
					known[place] = true
				}
			}
			if len(p.Tables) == 0 && !p.Single || !slices.Contains([]Format{JSON, JSONC, TOML, YAML}, p.Format) || p.Linux+p.MacOS+p.Windows == "" {
				t.Errorf("%s: a place is not described: %+v", c.Name, p)
			}
		}
		for _, b := range c.Blind {
			if b.Why == "" || b.Place.Scope == "" || b.Place.Linux+b.Place.MacOS+b.Place.Windows == "" {
				t.Errorf("%s: a file that is not read is not described: %+v", c.Name, b)
			}
		}
		for _, b := range c.Brings {
			if b.Kind == "" || len(b.Manifests) == 0 || len(b.At) == 0 || !strings.Contains(b.Root.Linux, "*") {
				t.Errorf("%s: what brings servers is not described: %+v", c.Name, b)
			}
		}
		for _, s := range c.Shapes {
			if s.Command == "" || s.Args == "" && s.Within != "" {
				t.Errorf("%s: a shape is not described: %+v", c.Name, s)
			}
		}
	}
	if again := All(); !slices.EqualFunc(All(), again, func(a, b Client) bool { return a.Name == b.Name }) || len(again) < 23 {
		t.Errorf("%d clients", len(again))
	}
	own := All()
	if own[0] = (Client{}); All()[0].Name == "" {
		t.Error("who changes the slice of All changes that of all callers")
	}
}
