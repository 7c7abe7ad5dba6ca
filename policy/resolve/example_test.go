package resolve_test

import (
	"errors"
	"fmt"

	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

func ExampleResolve() {
	host, err := hostfs.LocalHost()
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := config.FromCommandLine(config.CommandLineOptions{Command: []string{"no-such-server"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _, err = resolve.Resolve(p, host)
	var missing *resolve.CommandError
	fmt.Println(errors.As(err, &missing), missing.Reason)
	// Output:
	// true was not found
}
