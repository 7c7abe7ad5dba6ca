package session

import "testing"

// TestDrawsForms reads the data file: who declares forms and shows none is not in it.
func TestDrawsForms(t *testing.T) {
	for name, want := range map[string]bool{
		"claude-code": true, "codex-mcp-client": true, "Visual Studio Code": true, "Visual Studio Code - Insiders": true, "cursor-vscode": true,
		"claude-ai": false, "gemini-cli-mcp-client": false, "Zed": false, "": false, "#": false, "# Clients that are known": false, "claude": false,
	} {
		if got := DrawsForms(name); got != want {
			t.Errorf("%q: %t, want %t", name, got, want)
		}
	}
}
