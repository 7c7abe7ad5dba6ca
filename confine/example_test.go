//go:build linux

package confine_test

import (
	"context"
	"fmt"
	"os"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// A command that may read its workspace and nothing else of the host. A program
// that does this calls [confine.RunSupervisor] first thing in main; here TestMain does.
func ExampleLauncher() {
	p, err := config.FromCommandLine(config.CommandLineOptions{
		Command: []string{"sh", "-c", "cat testdata/hello; (echo x > testdata/new; cat ~/.ssh/id_*) 2>/dev/null || echo refused"},
		Read:    []string{"."},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	host, err := hostfs.LocalHost()
	if err != nil {
		fmt.Println(err)
		return
	}
	profile, _, err := resolve.Resolve(p, host)
	if err != nil {
		fmt.Println(err)
		return
	}
	process, err := confine.Launcher{}.Start(context.Background(), profile, confine.Stdio{Out: os.Stdout})
	if err != nil {
		fmt.Println(err)
		return
	}
	exit, _ := process.Wait()
	fmt.Println("exit status", exit.Code)
	// Output:
	// hello
	// refused
	// exit status 0
}
