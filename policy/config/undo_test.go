package config

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestUndoKeys tests the keys of undo: of a server, of [defaults], and out of range.
func TestUndoKeys(t *testing.T) {
	o, _ := layersIn(t)
	o.User = testkitFile(t, `[defaults]
undo = "session"
undo_days = 3

[servers.plain]
command = "x"

[servers.own]
command = "x"
undo = "call"
undo_file_mb = 1
undo_total_mb = 2

[servers.none]
command = "x"
undo = "off"
`)
	c, err := Load(o)
	must(t, err)
	for server, want := range map[string]policy.Undo{
		"plain": {Mode: "session", FileMB: 64, TotalMB: 2048, Days: 3},
		"own":   {Mode: "call", FileMB: 1, TotalMB: 2, Days: 3},
		"none":  {},
	} {
		p, err := c.Policy(server, "")
		must(t, err)
		if p.Undo != want || p.Undo.On() != (want.Mode != "") {
			t.Errorf("%s: %+v, want %+v", server, p.Undo, want)
		}
	}
	for _, wrong := range []string{`undo = "always"`, "undo = true", "undo_days = 0", "undo_file_mb = 0"} {
		if _, err := Decode([]byte("[servers.x]\ncommand = \"x\"\n"+wrong+"\n"), "f"); err == nil {
			t.Errorf("%s was accepted", wrong)
		}
	}
}
