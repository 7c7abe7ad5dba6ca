package commands

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
)

type versionCmd struct{ format string }

func versionCommand(line *cli.CommandLine) *cobra.Command {
	v := &versionCmd{}
	cmd := line.Command("version [flags]", "Print the version and the features of the running kernel.", 0, false, func([]string) error {
		v.Run(line.Console)
		return nil
	})
	cli.AddFlags(cmd, cli.FormatFlag(&v.format))
	return cmd
}

func (v *versionCmd) Run(c terminal.Console) {
	commit := programs.Commit()
	kernel := kernelSummary()
	if v.format == "json" {
		cli.PrintJSON(c, map[string]string{
			"version": programs.Version(), "commit": commit, "go": runtime.Version(),
			"platform": runtime.GOOS + "/" + runtime.GOARCH, "kernel": kernel,
		})
		return
	}
	c.Printf("mcp-jail %s\ncommit   %s\ngo       %s %s/%s\n", programs.Version(), commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
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
