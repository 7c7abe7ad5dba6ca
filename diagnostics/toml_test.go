package diagnostics

import (
	"testing"
)

// TestShellWord parses the quoted words by the rules of the shell.
func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		"/a/b": "/a/b", "~/x": "~/x", "a b": "'a b'", "~/a b": "~/'a b'", "": "''", "$(id)": "'$(id)'", "x'y": `'x'\''y'`, "a~b": "'a~b'", "/a/[b]": "'/a/[b]'",
	} {
		if got := shellWord(in); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", in, got, want)
		}
	}
}
