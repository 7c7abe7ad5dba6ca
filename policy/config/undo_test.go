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

[servers.plain]
command = "x"

[servers.own]
command = "x"
undo = "call"
undo_total_mb = 2

[servers.none]
command = "x"
undo = "off"
`)
	c, err := Load(o)
	must(t, err)
	for server, want := range map[string]policy.Undo{
		"plain": {Mode: "session", TotalMB: 2048},
		"own":   {Mode: "call", TotalMB: 2},
		"none":  {},
	} {
		p, err := c.Policy(server, "")
		must(t, err)
		if p.Undo != want || p.Undo.On() != (want.Mode != "") {
			t.Errorf("%s: %+v, want %+v", server, p.Undo, want)
		}
	}
	for _, wrong := range []string{`undo = "always"`, "undo = true", "undo_total_mb = 0"} {
		if _, err := Decode([]byte("[servers.x]\ncommand = \"x\"\n"+wrong+"\n"), "f"); err == nil {
			t.Errorf("%s was accepted", wrong)
		}
	}
}
