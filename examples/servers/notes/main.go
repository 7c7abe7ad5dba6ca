// Command notes is a small, honest MCP server: it searches, reads and writes the Markdown notes below one directory.
//
//	notes DIR
//
// It is what most servers are, code that means well. It refuses names that leave DIR, and it follows symlinks, which a
// lexical check cannot see: a link to a private key inside DIR is read like any note. It is left so on purpose, because
// this is the kind of mistake that a jail has to make harmless.
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
