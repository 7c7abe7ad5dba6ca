// Package conformance asks whether anybody can tell a server behind mcp-jail from
// the server itself. Its tests start the same server twice, bare and through
// mcp-jail run, do the same to both, and compare what comes back:
//
//   - transcripts: lines of a client, byte for byte against what the server writes
//     to its stdout, and its exit status (transcripts/*.txt);
//   - client libraries: what they report of a session (clients/, sessions/*.json);
//   - the command line of the MCP Inspector: what it prints;
//   - the official conformance suite, through bridge/, which makes an HTTP server
//     of a stdio one: its verdicts.
//
// The sessions of client libraries are played a third time, with a process for every
// call (stateful = false), without and with spares. Where that departs is a list, in
// stateless_test.go and RESULTS.md: nothing else may differ, and nothing in it be equal.
//
// The tests of hardship_test.go do the same where a relay has it hard: thousands of
// requests at once, a client that stops reading, a proxy that is stopped or killed.
//
// A comparison has to be able to fail: each is also made with lossy/, a relay with
// faults that others have had. What was compared stands in RESULTS.md, which
// go test -update writes.
//
// It is a module of its own, so that mcp-jail does not depend on the SDKs that it
// is compared with. testdata/test.sh installs what it needs and runs it.
//
// What it does not show: clients that are programs rather than libraries, servers
// that were not listed, other systems than Linux. Both sides get the same short
// environment, because a jail passes no more of it on.
package conformance
