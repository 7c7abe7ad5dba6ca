package runline

import "strings"

func (p *parser) uv() error {
	p.line.Launcher = Uvx
	words, err := p.uvWords(p.words)
	if err != nil {
		return err
	}
	if len(words) == 0 || words[0] != "tool" {
		return ErrNotLauncher
	}
	if words, err = p.uvWords(words[1:]); err != nil {
		return err
	}
	if len(words) == 0 || words[0] != "run" {
		return ErrNotLauncher
	}
	p.words = words[1:]
	return p.uvx()
}

func (p *parser) uvx() error {
	p.line.Launcher = Uvx
	words, err := p.uvWords(p.words)
	if err != nil {
		return err
	}
	if len(words) > 0 && !p.line.named && (interpreter(words[0]) || words[0] == "run") {
		return p.bad(words[0], "uvx takes this for an interpreter or a slip, not for a package")
	}
	if err := p.program(words); err != nil {
		return err
	}
	if l := &p.line; l.Program == "" {
		// uvx runs the program of exactly the name that was typed.
		l.Program = typedName(l.typed)
	}
	return nil
}

func (p *parser) uvWords(words []string) ([]string, error) {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		word := words[0]
		words = words[1:]
		if word == "--" {
			return nil, p.bad(word, "uv does not take the word after it for the package")
		}
		name, value, hasValue := strings.Cut(word, "=")
		if name == "-" {
			return nil, p.bad(word, "it is not an option")
		}
		short := word[1] != '-'
		if short && len(name) > 2 && uvOption(name[:2]).value { // -p3.12
			name, value, hasValue = word[:2], strings.TrimPrefix(word[2:], "="), true
		}
		if short && (strings.Trim(name, "-q") == "" || strings.Trim(name, "-v") == "") {
			name = name[:2] // -qq
		}
		o := uvOption(name)
		switch {
		case o.use == unknown || o.use == refused:
		case hasValue && !o.value:
			return nil, p.bad(word, "it has no value")
		case o.value && !hasValue:
			if len(words) == 0 || strings.HasPrefix(words[0], "-") {
				return nil, p.bad(word, "its value is missing, or begins with a hyphen")
			}
			value, words = words[0], words[1:]
		}
		if o.use == from && interpreter(value) {
			return nil, p.bad(value, "uvx takes this for an interpreter, not for a package")
		}
		if err := p.apply(o, word, value); err != nil {
			return nil, err
		}
	}
	return words, nil
}

func interpreter(word string) bool {
	name, _, _ := strings.Cut(word, "@")
	for _, p := range [...]string{"pythonw", "python", "cpython", "pypy", "graalpy", "pyodide", "pyston", "cp", "pp"} {
		if rest, ok := strings.CutPrefix(strings.ToLower(name), p); ok && strings.Trim(rest, "0123456789.-tdw") == "" {
			return true
		}
	}
	return false
}

// splitRequirements splits the value of --with. A comma also separates the version bounds
// and the extras of one requirement.
func splitRequirements(value string) (specs []string) {
	start, depth := 0, 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			next := strings.TrimLeft(value[i+1:], " ")
			if depth == 0 && (next == "" || strings.IndexByte("<>=!~", next[0]) < 0) {
				specs = append(specs, strings.TrimSpace(value[start:i]))
				start = i + 1
			}
		}
	}
	return append(specs, strings.TrimSpace(value[start:]))
}

func uvOption(name string) option {
	long := strings.TrimPrefix(name, "--")
	switch name {
	case "--from":
		return option{name: long, use: from, value: true}
	case "--with", "-w":
		return option{name: "with", use: with, value: true}
	case "--with-requirements":
		return option{name: long, use: requirements, value: true}
	case "--python", "-p":
		return option{name: "python", use: python, value: true}
	case "--isolated":
		return option{name: long, use: isolated}
	case "--offline":
		return option{name: long, use: offline}
	case "--quiet", "-q", "--verbose", "-v", "--no-progress", "--no-cache", "-n", "--native-tls", "--no-env-file", "--show-resolution", "--compile-bytecode", "--no-compile-bytecode":
		return quiet(long)
	case "--color", "--cache-dir", "--link-mode":
		return quietWith(long)
	case "--refresh", "--upgrade", "-U", "--reinstall", "--no-index", "--no-build", "--no-binary", "--no-sources", "--no-config", "--managed-python", "--no-managed-python",
		"--no-python-downloads", "--no-build-isolation", "--lfs":
		if name == "-U" {
			long = "upgrade"
		}
		return fetches(long)
	case "--index-url", "-i", "--default-index":
		return fetchesWith("default-index")
	case "--index", "--extra-index-url":
		return fetchesWith("index")
	case "-f":
		return fetchesWith("find-links")
	case "-P":
		return fetchesWith("upgrade-package")
	case "--find-links", "--index-strategy", "--keyring-provider", "--resolution", "--prerelease", "--exclude-newer", "--python-preference", "--constraints", "--overrides",
		"--build-constraints", "--upgrade-package", "--refresh-package", "--reinstall-package", "--no-build-package", "--no-binary-package", "--config-file", "--python-platform",
		"--torch-backend", "--fork-strategy":
		return fetchesWith(long)
	case "--allow-insecure-host":
		return fetchesWith(long)
	case "--directory", "--project":
		return refuses(name, "it changes the directory that the program starts in, or the configuration")
	case "--env-file":
		return refuses(name, "the program gets variables from a file")
	case "--with-editable":
		return refuses(name, "the package is used where it lies and may change there")
	case "--version", "-V", "--help", "-h":
		return refuses(name, "uv only prints something then")
	}
	return option{name: long}
}
