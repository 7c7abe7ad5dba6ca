// Package wine tests mcp-jail for Windows under Wine, on Linux: mcp-jail.exe starts a server in its job and
// relays. What Wine does is no proof of what Windows does. Wine 8 limits no processes and no memory, and
// takes nothing away from a token.
//
// The test runs with MCPJAIL_LONG=1, which is make test-long, and needs Debian's wine64. It makes a prefix,
// Wine's directory with a drive C: of its own, which takes 700 MB and some ten seconds.
package wine
