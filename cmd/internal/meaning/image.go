package meaning

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/wrapper"
	"github.com/mcp-jail/mcp-jail/presets"
)

// Instead returns a sentence with the line that starts the server of a container without it, or "" if no preset knows
// an image among the words.
func Instead(argv []string) string {
	if _, where := wrapper.Elsewhere(argv); where != wrapper.InContainer {
		return ""
	}
	for _, word := range argv {
		if p, ok := presets.ForPackage(presets.Image, word); ok {
			if line := lineOf(p); line != nil {
				return "the same server without one: " + show.Spelled(line)
			}
		}
	}
	return ""
}

// lineOf returns how to start the server of a preset, or nil.
func lineOf(p *presets.Preset) []string {
	for _, of := range []struct {
		ecosystem presets.Ecosystem
		start     []string
	}{{presets.NPM, []string{"npx", "-y"}}, {presets.PyPI, []string{"uvx"}}, {presets.Command, nil}} {
		for _, pkg := range p.Packages {
			if pkg.Ecosystem == of.ecosystem {
				return append(slices.Clone(of.start), pkg.Name)
			}
		}
	}
	return nil
}
