// Package jail runs programs that work for mcp-jail itself: npm, pip and uv, the scripts of
// packages, and interpreters that are asked for their version. Each gets a jail of package
// confine, with less than a server has: no workspace, no variable of the user's, one directory to
// write, and no host but the registries that are named.
//
// The jail is strict. Where this host cannot make it, the program does not run.
package jail
