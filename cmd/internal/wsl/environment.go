package wsl

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/environ"
)

// ownOfLinux are variables that Linux has its own values of. Those of Windows would name what is not there.
var ownOfLinux = []string{"HOME", "LOGNAME", "PATH", "PWD", "SHELL", "TEMP", "TMP", "TMPDIR", "USER"}

// Environment returns the environment of wsl.exe: that of this process, and WSLENV, which names what wsl.exe
// passes on. It names the variables that granted holds for, and no others. A granted name is NAME or
// PREFIX*. A variable of which the value is a path, or a list of paths, has that of Linux.
func (t Target) Environment(environment, granted []string) (all []string) {
	var passed []string
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		if strings.EqualFold(name, "WSLENV") || strings.EqualFold(name, "WSL_UTF8") {
			continue
		}
		if as := grantedAs(name, granted); as != "" {
			passed = append(passed, as+"/u")
			entry = as + "=" + t.value(value)
		}
		all = append(all, entry)
	}
	slices.Sort(passed)
	return append(all, "WSL_UTF8=1", "WSLENV="+strings.Join(slices.Compact(passed), ":"))
}

// grantedAs returns the name under which Linux gets a variable, or "". Names have no case in Windows.
func grantedAs(name string, granted []string) string {
	if !environ.IsName(name, true) || slices.Contains(ownOfLinux, strings.ToUpper(name)) || !environ.MaySet(name, environ.User) {
		return ""
	}
	for _, g := range granted {
		prefix, isPrefix := strings.CutSuffix(g, "*")
		switch {
		case !isPrefix && strings.EqualFold(g, name):
			return g
		case isPrefix && prefix != "" && len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix):
			return prefix + name[len(prefix):]
		}
	}
	return ""
}

// value returns the value of a variable as Linux has it.
func (t Target) value(value string) string {
	parts := strings.Split(value, ";")
	for i, part := range parts {
		mapped, is, err := t.whole(part)
		if !is || err != nil {
			return value
		}
		parts[i] = mapped
	}
	return strings.Join(parts, ":")
}
