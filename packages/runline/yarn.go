package runline

import "strings"

// yarn parses the words after yarn. dlx must be the first of them. yarn dlx reads options up to
// the first other word.
func (p *parser) yarn() error {
	if p.words[0] != "dlx" {
		if strings.HasPrefix(p.words[0], "-") {
			return p.bad(p.words[0], "it stands before dlx")
		}
		return ErrNotLauncher
	}
	p.line.Launcher = YarnDlx
	words := p.words[1:]
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		word := words[0]
		words = words[1:]
		name, value, hasValue := strings.Cut(word, "=")
		o := option{name: word}
		switch {
		case word == "-q" || word == "--quiet":
			o = quiet("quiet")
		case word == "-p" || name == "--package":
			o = option{name: "package", use: pkg, value: true}
			if !hasValue {
				if len(words) == 0 || strings.HasPrefix(words[0], "-") {
					return p.bad(word, "its value is missing, or begins with a hyphen")
				}
				value, words = words[0], words[1:]
			}
		}
		if err := p.apply(o, word, value); err != nil {
			return err
		}
	}
	return p.program(words)
}
