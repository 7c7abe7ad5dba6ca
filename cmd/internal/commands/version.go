package commands

import (
	"fmt"
	"runtime"

	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
)

// printVersion prints the version and the features of the running kernel.
func printVersion(c terminal.Console) {
	c.Printf("mcp-jail %s\ncommit   %s\ngo       %s %s/%s\n", programs.Version(), programs.Commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	kernel := kernelSummary()
	width := c.TableColumns()
	if width == 0 {
		width = len(kernel) + 9 // scripts read the line
	}
	c.Printf("%s\n", terminal.Hang("kernel   ", "         ", kernel, width))
}

func kernelSummary() string {
	f := confine.Probe()
	s := f.System()
	for _, n := range f.List() {
		if n.Answer == confine.Yes {
			s += ", " + n.Name
			if n.Name == "landlock" {
				s += fmt.Sprintf(" %d", f.LandlockABI)
			}
		}
	}
	return s
}
