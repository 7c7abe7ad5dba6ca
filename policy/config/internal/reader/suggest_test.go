package reader

import (
	"strings"
	"testing"
)

// TestSuggestProgram: a short name must differ in one letter only. The shortest, and launchers, are
// no misspellings.
func TestSuggestProgram(t *testing.T) {
	known := []string{"npx", "python3", "fmt", "node", "mv", "gio", "bin", "dune", "podman"}
	for word, want := range map[string]string{"uv": "", "go": "", "nix": "", "bun": "", "deno": "", "uvx": "", "pdm": "", "npxx": "npx", "pyhton": "python3", "foo": "", "noed": "node", "knode2": "node", "mypythons": ""} {
		if got := SuggestProgram(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestSuggest(t *testing.T) {
	known := []string{"command", "arguments", "workspace", "warm"}
	for word, want := range map[string]string{"comand": "command", "args": "", "argumnets": "arguments", "workspce": "workspace", "wram": "warm", "xyz": "", strings.Repeat("x", 1e6): ""} {
		if got := Suggest(word, known); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", word, got, want)
		}
	}
}
