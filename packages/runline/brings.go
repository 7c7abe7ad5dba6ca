package runline

import (
	"slices"
	"strings"
)

// Brings returns, in the words of the line, what makes other code run than that of its first
// package, or could have another author's code fetched under that name. It says nothing about
// NodeOptions, Env and Starters: whether they bring code depends on their values and on the
// directory.
func (l *Line) Brings() (what []string) {
	for _, p := range l.Packages[1:] {
		what = append(what, "the package "+p.Raw)
	}
	if len(l.Requirements) > 0 {
		what = append(what, "--with-requirements")
	}
	if l.Call != "" {
		what = append(what, "--call")
	}
	if strings.ContainsAny(l.Python, `/\`) {
		what = append(what, "--python="+l.Python)
	}
	for _, o := range l.Options {
		if name := "--" + o.Name; slices.Contains(sources, o.Name) && !isUsual(o) && !slices.Contains(what, name) {
			what = append(what, name)
		}
	}
	// npm finds programs in the named package only. A Python installation has those of all packages.
	if first := l.Packages[0]; l.Ecosystem() == PyPI && l.Program != "" && first.Name != "" && !samePythonName(l, first) {
		what = append(what, "the program "+l.Program)
	}
	return what
}

// isUsual reports whether an option names the registry that the launcher has anyway.
func isUsual(o Option) bool {
	switch strings.TrimRight(o.Value, "/") {
	case "https://registry.npmjs.org":
		return o.Name == "registry"
	case "https://pypi.org/simple":
		return o.Name == "default-index"
	}
	return false
}

// sources are the options that choose whose package it is that a name stands for.
var sources = []string{
	"registry", "userconfig", "cafile", "proxy", "https-proxy", "no-strict-ssl",
	"default-index", "index", "index-strategy", "find-links", "config-file", "constraints", "overrides", "build-constraints", "allow-insecure-host",
}
