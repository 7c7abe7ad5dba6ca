// Package fakesandbox makes a test binary a stand-in for macOS's sandbox-exec that confines by seccomp
// on Linux. It is for tests of mcp-jail-tls: of what a profile refuses, it knows only what that program
// asks for. The build tag seatbelt selects it.
package fakesandbox
