// Package conformance tests that a server behind mcp-jail behaves like the server itself.
// Its tests start the same server twice, bare and with mcp-jail run, do the same to both,
// and compare what comes back:
//
//   - transcripts: for the lines of a client, the stdout of the server byte for byte, and
//     its exit status (transcripts/*.txt);
//   - client libraries: what they report of a session (clients/, sessions/*.json);
//   - the command line of the MCP Inspector: its output;
//   - the official conformance suite: its verdicts. It reaches the server through bridge/,
//     which turns a stdio server into an HTTP server.
//
// The tests play the sessions of client libraries a third time, with a process for every
// call (stateful = false), without and with warm workers. The list in stateless_test.go
// and RESULTS.md has every departure: nothing else may differ, and every entry must.
//
// The tests of hardship_test.go compare under load: thousands of requests at once, a
// client that stops reading, a proxy that is stopped or killed.
//
// Each comparison is also made with lossy/, a relay with known faults, to show that it can
// fail. RESULTS.md counts the comparisons; go test -update writes it.
//
// make test-all compares the transcripts, and one client with one server. make test-long (MCPJAIL_LONG=1) has
// the other clients, servers and suites: see paired. go test -update plays every pair.
//
// The package is a module, so that mcp-jail does not depend on the SDKs that it is
// compared with. testdata/test.sh installs what it needs and runs it.
//
// The tests do not cover clients other than these libraries and the Inspector, servers
// that are not listed, and systems other than Linux. Both sides get the same short
// environment, because a jail passes no other variables on.
package conformance
