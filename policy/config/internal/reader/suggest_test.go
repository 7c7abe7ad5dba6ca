package reader

import (
	"strings"
	"testing"
)

func TestSuggest(t *testing.T) {
	known := []string{"command", "arguments", "workspace", "warm", "call", "env", "run", "roo"}
	for word, want := range map[string]string{"comand": "command", "args": "", "argumnets": "arguments", "workspce": "workspace", "wram": "warm", "xyz": "", "all": "", "net": "", "rum": "run", "foo": "", strings.Repeat("x", 1e6): ""} {
		if got := Suggest(word, known); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", word, got, want)
		}
	}
}
