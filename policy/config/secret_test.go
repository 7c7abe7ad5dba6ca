package config

import (
	"testing"
)

const api = "[servers.s]\ncommand = \"server\"\n[[servers.s.access.net]]\nhost = \"api.example\"\nallow = true\nsecret = "

// A project's file that gives a server a secret has a part in what it does.
func TestSecretOfLayer(t *testing.T) {
	layer, ps := decodeLayer([]byte("[[servers.s.access.net]]\nhost = \"a\"\nallow = true\nsecret = { env = \"T\" }\n"), "f")
	if len(ps) > 0 || !layer.Servers["s"].changesProgram(nil) {
		t.Errorf("%v", ps)
	}
	if layer.Servers["s"].Access.Net[0].Secrets = nil; layer.Servers["s"].changesProgram(nil) {
		t.Error("a host alone")
	}
}
