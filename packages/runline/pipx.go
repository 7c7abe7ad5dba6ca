package runline

import "strings"

func (p *parser) pipx() error {
	p.line.Launcher = PipxRun
	words := p.words
	for len(words) > 0 && words[0] != "run" {
		if !strings.HasPrefix(words[0], "-") {
			return ErrNotLauncher
		}
		if o := pipxOption(words[0]); o.use != silent {
			return p.bad(words[0], "it stands before run, where it is not known")
		}
		words = words[1:]
	}
	words = words[1:]
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		word := words[0]
		words = words[1:]
		if word == "--" {
			break
		}
		name, value, hasValue := strings.Cut(word, "=")
		o := pipxOption(name)
		switch {
		case o.use == unknown || o.use == refused:
		case hasValue && !o.value:
			return p.bad(word, "it has no value")
		case o.value && !hasValue:
			if len(words) == 0 || strings.HasPrefix(words[0], "-") {
				return p.bad(word, "its value is missing, or begins with a hyphen")
			}
			value, words = words[0], words[1:]
		}
		if err := p.apply(o, word, value); err != nil {
			return err
		}
	}
	if len(words) > 0 && !p.line.named && (strings.ContainsAny(words[0], `/\`) || strings.HasSuffix(words[0], ".py")) {
		return p.bad(words[0], "pipx runs a file or a URL as a script. --spec names the package")
	}
	return p.program(words)
}

func pipxOption(name string) option {
	long := strings.TrimPrefix(name, "--")
	switch name {
	case "--spec":
		return option{name: long, use: from, value: true}
	case "--python":
		return option{name: long, use: python, value: true}
	case "--no-cache", "--verbose", "-v", "--quiet", "-q":
		return quiet(long)
	case "--system-site-packages":
		return fetches(long)
	case "--index-url", "-i":
		return fetchesWith("default-index")
	case "--path", "--pypackages", "--editable", "-e":
		return refuses(name, "the program comes from this directory, and may change there")
	case "--pip-args":
		return refuses(name, "its value is a command line of pip")
	}
	return option{name: long}
}
