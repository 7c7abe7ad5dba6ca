// Package registry is a package registry for tests: npm's protocol, and Python's simple
// index, on loopback. The real npm and pip install from it. Only tests import it.
//
// A [Stock] says what the registry has: packages ([Package]), wheels ([Wheel]), and what it does
// wrong ([Fault]). Two forms serve the same stock:
//
//	New(stock)                the http.Handler alone, to be put behind TLS
//	Start(t, stock)           the handler on a loopback port of this process
//
// Packages are made when they are asked for: no tarball is held in memory, whatever its
// size. The same Package makes the same bytes in every process, so its integrity is stable.
// Publishing a name and version again replaces it, as no real registry does.
//
// [MCPServer] is a package that is a working MCP server without dependencies, in
// JavaScript ([MCPServer.Package]) and in Python ([MCPServer.Wheel]). [Attack] makes a
// package try things in its postinstall script, and tells what came of each.
//
// [Environ] returns an environment for npm and pip in which nothing of the user's
// configuration counts.
//
// What it serves of npm: packuments in both forms with ETags, tarballs, dist-tags, ping,
// whoami. POST to /-/loot is a host that takes stolen things: the log has the body. Of Python: the simple index in HTML and JSON, wheels,
// source distributions, metadata files.
//
// Limits:
//   - There is no publishing, searching or logging in over HTTP.
//   - It has no attestations and no signatures.
package registry
