// Package wine tests mcp-jail for Windows under Wine, on Linux. What Wine does is no proof of what
// Windows does. But the relay, the quoting of arguments, the end of processes, paths and files of
// clients are the same code on both.
//
// The first test makes a prefix, Wine's directory with a drive C: of its own, and builds mcp-jail
// and a test server. All tests share them, and everything ends with the run. A test is written so:
//
//	func TestX(t *testing.T) {
//		t.Parallel()
//		h := start(t)                                    // the prefix; skips where it cannot be had
//		r := h.jail(t, command{args: []string{"version"}})       // mcp-jail.exe, to its end
//		s := h.session(t, command{args: h.serve("a b", `q"r`)})  // with a client that talks to it
//		answer := s.call(t, "tools/call", `{"name":"args"}`)
//	}
//
// command has more: variables, a directory, a standard input. h.windowsPath gives a file of Linux
// its path on Windows, and h.home the user's directory in C:. The standard streams are pipes or
// files, never a terminal. h.newDir makes a directory in C:. All tests have one user, and so one
// place for mcp-jail's own files: a test that changes those sets XDG_CONFIG_HOME and its like.
//
// The tests run with MCPJAIL_LONG=1, which is make test-long: a prefix takes 700 MB and some ten
// seconds. They need Debian's wine64, and run as an ordinary user. Root runs them under a user id
// that no account has:
//
//	MCPJAIL_LONG=1 MCPJAIL_SERVERS=$(ls -d ~/.cache/mcp-jail-tests/npm-*) \
//	MCPJAIL_WINE=$(ls -d ~/.cache/mcp-jail-tests/wine-*) go test ./internal/wine -run TestX
//
// TestPackages runs the tests of other packages as programs of Windows: a package is a line of
// windowsPackages. A test that Wine cannot pass calls testkit.NotUnderWine.
//
// Wine 8 does not limit processes and memory, and does not take privileges from a token: what those
// hold is tested on Windows. It refuses one way to remove a file, and the Go library does not know
// that answer. So programs are built with Go's own other way, which it has for older systems.
package wine
