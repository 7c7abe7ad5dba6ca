// Package diagnose finds the cause of a failed MCP server in the evidence, and which grant helps.
//
// The package is pure. It opens no file, reads no clock and no environment, and starts no goroutine. It
// asks about this machine only through a [diagnostics.Host].
//
// # Steps
//
// [Failure] looks for a cause in this order, and the first step that finds one decides:
//
//  1. A failed step of the start, or what the jail recorded during the failing work. Of several
//     denials those that the failing lines name are the cause, or else the first, or the latest
//     once the server has ended.
//  2. Each path, host, variable and program in the failing lines that the policy refuses and that
//     this machine has. Then the rows of known programs (diagnostics/internal/analysis/programs.toml)
//     that the lines match.
//  3. The paths that the server's own arguments and variables name.
//  4. Words such as EACCES alone. They get a note and no grant.
//
// [OfJail] makes a note about a call that succeeded and names what only the jail has. [Arguments],
// [Complaint] and [Awaited] warn before anything fails.
//
// # Hostile servers
//
// A server can choose what it names, so no grant of a sensitive path follows from text. No grant is
// proposed that lets a server write what programs outside the jail run or obey, or with which the server
// would not start. This package never grants anything itself.
//
// # Limits
//
//   - Messages are understood in English, and only Unix paths are.
//   - A failure that names nothing ("fetch failed") is at most Possible without a record.
package diagnose
