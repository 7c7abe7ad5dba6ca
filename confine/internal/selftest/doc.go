// Package selftest proves on a Mac that Seatbelt holds what mcp-jail builds on it.
package selftest
