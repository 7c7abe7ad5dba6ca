package commands

import (
	"encoding/json"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
)

type versionCmd struct{ format string }

func (x *front) version() *cobra.Command {
	v := &versionCmd{}
	cmd := x.command("version [flags]", "Print the version and the features of the running kernel.", 0, false, func([]string) error {
		v.Run(x.console)
		return nil
	})
	addFlags(cmd, formatFlag(&v.format))
	return cmd
}

func (v *versionCmd) Run(c terminal.Console) {
	commit := programs.Commit()
	kernel := kernelSummary()
	if v.format == "json" {
		b, _ := json.MarshalIndent(map[string]string{
			"version": programs.Version(), "commit": commit, "go": runtime.Version(),
			"platform": runtime.GOOS + "/" + runtime.GOARCH, "kernel": kernel,
		}, "", "  ")
		c.Printf("%s\n", b)
		return
	}
	c.Printf("mcp-jail %s\ncommit   %s\ngo       %s %s/%s\nkernel   %s\n", programs.Version(), commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, kernel)
}
