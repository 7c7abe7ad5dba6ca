// Package wsl hands a server to the mcp-jail of a Linux distribution that WSL 2 runs on this Windows.
//
//	client ── mcp-jail.exe run --wsl Ubuntu --name x -- npx -y @scope/server C:\Users\me
//	            └─ wsl.exe -d Ubuntu --cd ~ --exec /bin/sh -c … mcp-jail run --name x -- npx -y @scope/server /mnt/c/Users/me
//
// An entry keeps the words that it has: a start maps their paths, and names for wsl.exe the variables
// that its flags grant. So unwrap takes the entry back byte for byte.
//
// What decides is pure and runs in tests of every system: the lists that wsl.exe prints ([Parse]), the
// choice of a distribution ([Choose]), the words and variables ([Target]). What runs wsl.exe is [Program].
// It is found by its path in the directory of the system, and never in PATH or the working directory.
//
// None of this has run on Windows. The tests use a program in place of wsl.exe.
package wsl
