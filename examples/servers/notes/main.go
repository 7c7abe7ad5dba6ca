// Command notes is a small, honest MCP server: it searches, reads and writes the Markdown notes below one directory.
//
//	notes DIR
//
// It refuses names that lead out of DIR, and it follows symbolic links, which its lexical check does not see: a link in
// DIR to a private key is read like a note. It has this mistake on purpose: a jail must make such mistakes harmless.
package main

import (
	"fmt"
	"os"

	"github.com/mark3labs/mcp-go/server"
)

func main() {
	if len(os.Args) != 2 || os.Args[1] == "-h" || os.Args[1] == "--help" {
		fmt.Fprintln(os.Stderr, "usage: notes DIR\nserves the Markdown notes below DIR over MCP on standard input and output")
		os.Exit(2)
	}
	if err := server.ServeStdio(newServer(notebook{dir: os.Args[1]})); err != nil {
		fmt.Fprintln(os.Stderr, "notes:", err)
		os.Exit(1)
	}
}
