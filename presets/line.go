package presets

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/runline"
)

// ForLine returns the preset of the package, or of the program, that a command line names.
func ForLine(argv []string) (*Preset, bool) {
	line, err := runline.Parse(argv)
	if err == nil {
		return ForPackage(Ecosystem(line.Ecosystem()), line.Packages[0].Name)
	}
	if len(argv) == 0 {
		return nil, false
	}
	return ForPackage(Command, strings.TrimSuffix(baseName(argv[0]), ".exe"))
}

// Lists returns an error if a preset is not for the package or program that a command line names.
func (p *Preset) Lists(argv []string) error {
	if line, err := runline.Parse(argv); err == nil {
		if p.isFor(Ecosystem(line.Ecosystem()), line.Packages[0].Name) {
			return nil
		}
		return fmt.Errorf("it is for %s, and the line runs %s", p.packages(), line.Packages[0])
	} else if !errors.Is(err, runline.ErrNotLauncher) {
		return fmt.Errorf("it is for %s, and %w", p.packages(), err)
	}
	if len(argv) > 0 && p.isFor(Command, strings.TrimSuffix(baseName(argv[0]), ".exe")) {
		return nil
	}
	return fmt.Errorf("it is for %s, and the line starts another program. For a program of your own, copy the table that mcp-jail preset %s prints into your configuration", p.packages(), p.Name)
}

func (p *Preset) isFor(ecosystem Ecosystem, name string) bool {
	key := Package{Ecosystem: ecosystem, Name: normal(ecosystem, name)}.key()
	return slices.ContainsFunc(p.Packages, func(of Package) bool {
		return Package{Ecosystem: of.Ecosystem, Name: normal(of.Ecosystem, of.Name)}.key() == key
	})
}

func (p *Preset) packages() string {
	var names []string
	for _, of := range p.Packages {
		if of.Ecosystem != Image {
			names = append(names, of.Name)
		}
	}
	return strings.Join(names, ", ")
}

func baseName(word string) string { return path.Base(strings.ReplaceAll(word, `\`, "/")) }
