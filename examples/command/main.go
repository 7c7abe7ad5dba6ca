// Command command runs a program in a jail in which it reads the working directory and nothing
// else of the user's:
//
//	go run ./examples/command git log --oneline
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/mcp-jail/mcp-jail/confine/jailed"
)

func main() {
	jailed.Init()
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: command PROGRAM [ARG...]")
		os.Exit(2)
	}
	cmd := jailed.Command(context.Background(), jailed.Policy{Read: []string{"."}}, os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
