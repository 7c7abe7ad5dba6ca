package presets

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const valid = `[preset]
title = "A server"
stateful = false
read_only = ["a", "b"]
sources = ["x/y@000000000000 README.md"]

[[preset.packages]]
npm = "x"

[[preset.variables]]
name = "TOKEN"
required = true
secret = true
sent = "header"
header = ["Authorization"]
hosts = ["api.example.com"]

[[preset.arguments]]
flag = "--root"
kind = "directory"
read = true

[servers.x]

[[servers.x.access.net]]
host = "api.example.com"
scheme = "https"
allow = true
secret = { env = "TOKEN", header = "Authorization" }
`

func TestDecode(t *testing.T) {
	testkit.Must(t, faults("x", []byte(valid)))
	p := testkit.Get(decode("x", []byte(valid), "x.toml"))(t)
	if p.Server.Command != "" || p.Server.Access.Net[0].Where != "x.toml:25" {
		t.Errorf("command %q, rule at %s", p.Server.Command, p.Server.Access.Net[0].Where)
	}
}

// TestDecodeRefuses changes one thing of a valid file.
func TestDecodeRefuses(t *testing.T) {
	for _, row := range testkit.Rows(t, "refused.txt", 3) {
		was, becomes, want := row[0], row[1], row[2]
		text := strings.Replace(valid, was, becomes, 1)
		if text == valid {
			t.Errorf("%q is not in the file", was)
		}
		testkit.Fails(t, fmt.Sprintf("%q for %q", becomes, was), faults("x", []byte(text)), want)
	}
}
