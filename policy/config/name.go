package config

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// DefaultName returns a name for a server that is given on the command line: the base name of the
// program, script or package, and a short hash of the whole command, which keeps two servers from
// sharing a private HOME. It is always a valid server name. The hash includes the working directory
// if the program or its script is looked for there.
func DefaultName(argv []string, dir string) string {
	text := strings.Join(argv, "\x00")
	if hasRelativeCode(argv) {
		text += "\x00\x00" + dir
	}
	return sanitizeName(serverBaseName(argv)) + "-" + policy.ShortHash(text)
}

// hasRelativeCode reports whether the program, or the script that it interprets, depends on
// the working directory.
func hasRelativeCode(argv []string) bool {
	if len(argv) == 0 {
		return false
	}
	outside := func(p string) bool { return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~/") }
	if strings.Contains(argv[0], "/") && !outside(argv[0]) {
		return true
	}
	name := path.Base(argv[0])
	lang := policy.InterpreterFamily(name)
	if lang == "" && !policy.IsShell(name) {
		return false
	}
	script := policy.ScriptArgument(lang, argv[1:])
	return script != "" && !strings.HasPrefix(script, "/")
}

func serverBaseName(argv []string) string {
	if len(argv) == 0 {
		return "server"
	}
	program := path.Base(argv[0])
	var rest []string
	for i := 1; i < len(argv); i++ {
		if argv[i] == "--" {
			continue
		}
		if strings.HasPrefix(argv[i], "-") {
			// The package may be the value of an option.
			if name, ok := strings.CutPrefix(argv[i], "--package="); ok {
				rest = append(rest, name)
			}
			continue
		}
		rest = append(rest, argv[i])
	}
	switch program {
	case "npx", "uvx", "bunx", "pnpx":
		if len(rest) > 0 {
			return packageName(rest[0])
		}
	case "npm", "pnpm", "bun", "yarn", "uv", "pipx", "deno":
		if len(rest) > 1 && slices.Contains([]string{"exec", "x", "dlx", "tool", "run"}, rest[0]) {
			return packageName(rest[len(rest)-1])
		}
	case "node", "python", "python3", "java", "ruby", "php":
		if len(rest) > 0 {
			return scriptName(rest[0])
		}
	}
	return program
}

// PackageName returns the first part of the name that DefaultName gives to the server of a
// package, written with or without scope and version.
func PackageName(spec string) string {
	if strings.Trim(spec, "@/.") == "" {
		return ""
	}
	return sanitizeName(packageName(spec))
}

// packageName removes scope and version: "@scope/server-github@1.2.3" becomes
// "server-github".
func packageName(spec string) string {
	if i := strings.LastIndexByte(spec, '@'); i > 0 {
		spec = spec[:i]
	}
	spec, _, _ = strings.Cut(spec, "==")
	return path.Base(spec)
}

// scriptName returns the name of a script, or of the directory around it if the script has
// a generic name such as index.js.
func scriptName(script string) string {
	base := path.Base(script)
	base = strings.TrimSuffix(base, path.Ext(base))
	if slices.Contains([]string{"index", "main", "server", "cli", "bin", "__main__"}, base) {
		dir := path.Dir(path.Clean(script))
		for slices.Contains([]string{"dist", "build", "src", "lib", "bin", "out"}, path.Base(dir)) {
			dir = path.Dir(dir)
		}
		if name := path.Base(dir); name != "." && name != "/" && name != ".." {
			return name
		}
	}
	return base
}

func sanitizeName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, s)
	s = strings.Trim(s, ".-")
	if len(s) > 40 {
		s = s[:40]
	}
	if s == "" {
		return "server"
	}
	return s
}
