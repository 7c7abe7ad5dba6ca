package wsl

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/presets"
)

// Granted returns the variables that flags of run grant: NAME or PREFIX*. Those of a preset are among them.
func Granted(flags *cmdline.RunFlags) ([]string, error) {
	granted := slices.Clone(flags.Env)
	if flags.Preset == "" {
		return granted, nil
	}
	p, err := presets.Find(flags.Preset)
	if err != nil {
		return nil, err
	}
	for _, v := range p.Variables {
		granted = append(granted, v.Name)
	}
	return granted, nil
}
