//go:build linux

package main

import "testing"

// Ports of the host that are not granted.
func TestCauseNet(t *testing.T) {
	causes(t, []cause{
		{name: "node fetch", needs: []string{"node"}, flags: "--write .", port: serving(200, "hello"), argv: node(`fetch("http://127.0.0.1:$PORT/").then((r) => r.text()).then(console.log)`), want: "--net localhost:$PORT"},
		{name: "node http", needs: []string{"node"}, rules: writeRule("."), port: serving(200, "hello"), argv: node(`require("http").get("http://localhost:$PORT/", (r) => r.resume())`), want: `[[access.net]] host = "localhost", scheme = "tcp", port = $PORT, allow`},
		{name: "curl", needs: []string{"curl"}, flags: "--write .", port: serving(200, "hello"), script: "curl -sS http://127.0.0.1:$PORT/", want: "--net localhost:$PORT"},
		{name: "curl localhost", needs: []string{"curl"}, rules: writeRule("."), port: serving(200, "hello"), script: "curl -sS http://localhost:$PORT/", want: `[[access.net]] host = "localhost", scheme = "tcp", port = $PORT, allow`},
		{name: "curl -o", needs: []string{"curl"}, rules: readRule(".") + localRule, port: serving(200, "hello"), script: "curl -sS -o page.html http://localhost:$PORT/", want: `[[access.fs]] path = ".", read, write`},
		{name: "curl other port", needs: []string{"curl"}, rules: writeRule(".") + "[[access.net]]\nhost = \"localhost\"\nport = 1\nallow = true\n", port: serving(200, "hello"), script: "curl -sS http://localhost:$PORT/", want: `[[access.net]] host = "localhost", scheme = "tcp", port = $PORT, allow`},
	})
}
