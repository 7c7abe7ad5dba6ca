// Package places says what paths mean on a host, before anything is granted: which are sensitive,
// which decide what runs outside of the jail, which belong to mcp-jail, and which are not for one
// server alone.
package places
