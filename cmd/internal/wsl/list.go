package wsl

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// A Distribution is a Linux that WSL has.
type Distribution struct {
	Name    string
	Default bool
	Version int // of WSL: 1 has no Linux kernel, and so no jail
}

// Parse returns the distributions that wsl.exe lists, the first time with --quiet, which prints names alone,
// and the second time with --verbose. The words of the second list are in the user's language, but for the
// names, the star of the default, and the version at the end of a line.
func Parse(quiet, verbose []byte) (all []Distribution) {
	for _, name := range lines(quiet) {
		d := Distribution{Name: name}
		for _, line := range lines(verbose) {
			line, isDefault := strings.CutPrefix(line, "*")
			rest, is := strings.CutPrefix(strings.TrimSpace(line)+" ", name+" ")
			fields := strings.Fields(rest)
			if !is || len(fields) == 0 {
				continue
			}
			d.Default = isDefault
			if fmt.Sscanf(fields[len(fields)-1], "%d", &d.Version); d.Version > 0 {
				break
			}
		}
		if d.Version > 0 {
			all = append(all, d)
		}
	}
	return all
}

// lines returns the lines of what wsl.exe prints that are not empty.
func lines(printed []byte) (all []string) {
	for _, line := range strings.FieldsFunc(Text(printed), func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// Text returns what wsl.exe prints as a text. It writes UTF-16, and UTF-8 where WSL_UTF8 is 1 and it is new
// enough to know that.
func Text(printed []byte) string {
	if !bytes.Contains(printed, []byte{0}) && !bytes.HasPrefix(printed, []byte{0xff, 0xfe}) {
		return strings.TrimPrefix(string(printed), "\ufeff")
	}
	units := make([]uint16, 0, len(printed)/2)
	for i := 0; i+1 < len(printed); i += 2 {
		units = append(units, uint16(printed[i])|uint16(printed[i+1])<<8)
	}
	return strings.TrimPrefix(string(utf16.Decode(units)), "\ufeff")
}

// Choose returns the distribution of a name, or the default one for "". The error says why servers cannot
// run there, and what to do.
func Choose(all []Distribution, name string) (Distribution, error) {
	if len(all) == 0 {
		return Distribution{}, fmt.Errorf("WSL has no Linux distribution: install one with `wsl --install -d Ubuntu`, and mcp-jail in it")
	}
	var names []string // that can be chosen
	for _, d := range all {
		if isName(d.Name) && !isAppliance(d.Name) && d.Version > 1 {
			names = append(names, d.Name)
		}
	}
	others := "install one with `wsl --install -d Ubuntu`, and mcp-jail in it"
	if names != nil {
		others = "choose " + strings.Join(names, " or ") + ", as in --wsl=" + names[0]
	}
	at := slices.IndexFunc(all, func(d Distribution) bool {
		return name == "" && d.Default || name != "" && strings.EqualFold(d.Name, name)
	})
	if at < 0 && name == "" {
		return Distribution{}, fmt.Errorf("WSL has no default distribution: %s", others)
	} else if at < 0 {
		return Distribution{}, fmt.Errorf("WSL has no distribution %q: %s", name, others)
	}
	switch d := all[at]; {
	case isAppliance(d.Name) && name == "":
		return d, fmt.Errorf("the default distribution of WSL, %s, is a part of another program, in which no servers are installed: %s", d.Name, others)
	case isAppliance(d.Name):
		return d, fmt.Errorf("%s is a part of another program, in which no servers are installed: %s", d.Name, others)
	case !isName(d.Name):
		return d, fmt.Errorf("wsl.exe cannot be given the name %q: %s", d.Name, others)
	case d.Version == 1:
		return d, fmt.Errorf("%s runs under WSL 1, which has no Linux kernel, so a jail there has no walls: convert it with `wsl --set-version %s 2`, or %s", d.Name, d.Name, others)
	default:
		return d, nil
	}
}

// isAppliance reports whether a distribution belongs to a program that runs containers.
func isAppliance(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "docker-desktop") || strings.HasPrefix(name, "rancher-desktop") || strings.HasPrefix(name, "podman-")
}

// isName reports whether wsl.exe can be given the name of a distribution: it takes no quotes off.
func isName(name string) bool {
	return name != "" && name[0] != '-' && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}
