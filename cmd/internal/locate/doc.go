// Package locate finds the files of MCP clients that exist on this host, and names those from which a
// client takes servers and which mcp-jail does not read.
package locate
