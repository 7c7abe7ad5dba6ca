package lifecycle_test

import (
	"context"
	"os"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A host runs a server for the client at its own stdin and stdout.
func ExampleRunStateful() {
	confine.RunSupervisor() // first thing in main

	profile := &policy.Profile{ /* of resolve.Resolve */ }
	exit, _ := lifecycle.RunStateful(context.Background(), lifecycle.Session{
		Profile:  profile,
		Launcher: lifecycle.Jail(confine.Launcher{}),
	})
	os.Exit(exit.Code)
}
