package diagnostics

import (
	"testing"
)

// TestShellWord reads the quoting back by the rule of the shell.
func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{
		"/a/b": "/a/b", "~/x": "~/x", "a b": "'a b'", "~/a b": "~/'a b'", "": "''", "$(id)": "'$(id)'", "x'y": `'x'\''y'`, "a~b": "'a~b'", "/a/[b]": "'/a/[b]'",
	} {
		if got := shellWord(in); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", in, got, want)
		}
	}
}
