package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
)

type versionCmd struct{ formatFlag }

// version is set by a release build (-ldflags "-X main.version=…").
var version = "development"

func (v *versionCmd) Run(c console) error {
	commit := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				commit += " (modified)"
			}
		}
	}
	kernel := kernelSummary()
	if v.Format == "json" {
		b, _ := json.MarshalIndent(map[string]string{
			"version": version, "commit": commit, "go": runtime.Version(),
			"platform": runtime.GOOS + "/" + runtime.GOARCH, "kernel": kernel,
		}, "", "  ")
		c.printf("%s\n", b)
		return nil
	}
	c.printf("mcp-jail %s\ncommit   %s\ngo       %s %s/%s\nkernel   %s\n", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, kernel)
	return nil
}
