//go:build linux

package main

import "testing"

// otherRule grants a port that no case uses.
const otherRule = "[[access.net]]\nhost = \"localhost\"\nport = 1\nallow = true\n"

var hello = servePort(200, "hello")

// TestAdviceNetwork tests the advice for programs that connect to ports of the host.
func TestAdviceNetwork(t *testing.T) {
	checkAdvice(t, []adviceCase{
		{name: "node fetch", needs: []string{"node"}, flags: "--write .", port: hello, argv: node(`fetch("http://127.0.0.1:$PORT/").then((r) => r.text()).then(console.log)`), want: "--net localhost:$PORT"},
		{name: "curl", needs: []string{"curl"}, flags: "--write .", port: hello, script: "curl -sS http://127.0.0.1:$PORT/", want: "--net localhost:$PORT"},
		{name: "curl -o", needs: []string{"curl"}, rules: readRule(".") + localRule, port: hello, script: "curl -sS -o page.html http://localhost:$PORT/", want: `[[access.fs]] path = ".", read, write`},
		{name: "curl other port", needs: []string{"curl"}, rules: writeRule(".") + otherRule, port: hello, script: "curl -sS http://localhost:$PORT/", want: `[[access.net]] host = "localhost", scheme = "tcp", port = $PORT, allow`},
		{name: "node tells no more than that", needs: []string{"node"}, flags: "--write . --net localhost:1", port: hello, argv: node(`fetch("http://127.0.0.1:$PORT/").then((r) => r.text()).then(console.log, (e) => { console.error(e.message); process.exitCode = 1 })`), want: "--net localhost:$PORT"},
		{name: "python socket", rules: writeRule(".") + otherRule, port: hello, argv: python(`import socket; socket.create_connection(("127.0.0.1", $PORT))`), want: `[[access.net]] host = "localhost", scheme = "tcp", port = $PORT, allow`},
		{name: "python urllib", flags: "--write . --net localhost:1", port: hello, argv: python(`import urllib.request; print(urllib.request.urlopen("http://127.0.0.1:$PORT/").read())`), want: "--net localhost:$PORT"},
	})
}
