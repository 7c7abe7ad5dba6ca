package runline

import "strings"

func (p *parser) bunX() error {
	for i, word := range p.words {
		switch {
		case word == "x":
			p.words = p.words[i+1:]
			return p.bunx()
		case word == "--bun" || word == "-b":
			p.line.BunAsNode = true
		case strings.HasPrefix(word, "-"):
			return p.bad(word, "it stands before x, where bun reads options of its own")
		default:
			return ErrNotLauncher
		}
	}
	return ErrNotLauncher
}

// bunx parses the words after bunx. bunx reads options up to the first other word. It
// ignores options that it does not know; they are refused here, because another version
// may know them.
func (p *parser) bunx() error {
	p.line.Launcher = Bunx
	words := p.words
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		word := words[0]
		words = words[1:]
		o := bunOption(word)
		name, value, hasValue := strings.Cut(word, "=")
		if hasValue && name == "--package" {
			o = bunOption(name)
		} else if o.value {
			if len(words) == 0 || strings.HasPrefix(words[0], "-") {
				return p.bad(word, "its value is missing, or begins with a hyphen")
			}
			value, words = words[0], words[1:]
		}
		if err := p.apply(o, word, value); err != nil {
			return err
		}
	}
	if err := p.program(words); err != nil {
		return err
	}
	return nil
}

func bunOption(word string) option {
	switch word {
	case "--bun", "-b":
		return option{name: "bun", use: onBun}
	case "--verbose", "--silent", "-y", "--yes":
		return quiet(strings.TrimLeft(word, "-"))
	case "--no-install":
		return option{name: "no-install", use: noInstall}
	case "-p", "--package":
		return option{name: "package", use: pkg, value: true}
	case "--version", "-v", "--revision", "--help", "-h":
		return refuses(word, "bunx only prints something then, or ignores it")
	}
	return option{name: word}
}
