package runline

import "strings"

func (p *parser) inside(words []string) error {
	if len(words) == 0 {
		return ErrNotLauncher
	}
	if p.depth++; p.depth > maxWrappers {
		return p.bad(words[0], "there are too many wrappers around it")
	}
	name := programName(words[0])
	if isWrapper(name) && relative(words[0]) {
		return ErrNotLauncher
	}
	p.starter(words[0])
	p.words = words[1:]
	switch name {
	case "env":
		return p.env()
	case "sh", "bash", "dash", "zsh", "ksh":
		return p.shell(name)
	case "cmd":
		return p.cmd()
	}
	return p.launcher(name, words[0])
}

func isWrapper(name string) bool {
	switch name {
	case "env", "sh", "bash", "dash", "zsh", "ksh", "cmd":
		return true
	}
	return false
}

func (p *parser) env() error {
	p.user = "env"
	words := p.words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	} else if len(words) > 0 && strings.HasPrefix(words[0], "-") {
		if mentionsAny(words) {
			return p.bad(words[0], "only env NAME=VALUE... COMMAND is taken apart")
		}
		return ErrNotLauncher
	}
	for len(words) > 0 {
		name, value, ok := strings.Cut(words[0], "=")
		if !ok {
			break
		}
		if !variableName(name) {
			return ErrNotLauncher
		}
		p.line.Env = append(p.line.Env, Assignment{name, value})
		words = words[1:]
	}
	return p.inside(words)
}

func (p *parser) shell(name string) error {
	p.user = name
	i, found := 0, false
	for ; i < len(p.words) && !found; i++ {
		w := p.words[i]
		if w == "--login" {
			p.line.Login = true
			continue
		}
		if len(w) < 2 || w[0] != '-' {
			return ErrNotLauncher
		}
		// -c may be one letter of several, as in -lc; its command is the next word.
		if strings.Trim(w[1:], "cleu") != "" {
			if mentionsAny(p.words) {
				return p.bad(w, "only -c, -l, -e and -u are known of a shell")
			}
			return ErrNotLauncher
		}
		found = strings.Contains(w, "c")
		p.line.Login = p.line.Login || strings.Contains(w, "l")
	}
	if !found || i == len(p.words) {
		return ErrNotLauncher
	}
	text := p.words[i]
	// A command without a launcher is none of our business, however complex it is.
	if !mentions(text) {
		return ErrNotLauncher
	}
	words, assignments, part, why := splitShell(text)
	if why != "" {
		return p.bad(part, why+". Only a single command whose words need no shell is taken apart")
	}
	for _, w := range words[:assignments] {
		name, value, _ := strings.Cut(w, "=")
		p.line.Env = append(p.line.Env, Assignment{name, value})
	}
	if words = words[assignments:]; len(words) > 0 && words[0] == "exec" {
		words = words[1:]
	}
	if len(words) > 0 && keyword(words[0]) {
		return p.bad(words[0], "this is a command of the shell. Only a single command whose words need no shell is taken apart")
	}
	return p.inside(words)
}

func keyword(word string) bool {
	switch word {
	case "if", "for", "while", "until", "case", "select", "function", "time", "coproc", "command", "builtin", "eval", "source", ".", "cd", "export", "set", "exec", "nohup", "sudo", "alias":
		return true
	}
	return strings.HasPrefix(word, "-")
}

func (p *parser) cmd() error {
	p.user = "cmd"
	i, found := 0, false
	for ; i < len(p.words) && !found; i++ {
		switch strings.ToLower(p.words[i]) {
		case "/c":
			found = true
		case "/d", "/s", "/q":
		default:
			return ErrNotLauncher
		}
	}
	words := p.words[i:]
	if !found || !mentionsAny(words) {
		return ErrNotLauncher
	}
	if len(words) == 1 {
		words = strings.Fields(words[0])
	}
	for _, w := range words {
		if j := strings.IndexFunc(w, func(r rune) bool { return !cmdPlain(r) }); j >= 0 || w == "" {
			return p.bad(w, "cmd may give a character in it a meaning")
		}
	}
	return p.inside(words)
}

func cmdPlain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r < 0x80 && strings.ContainsRune(`@/._-+:\=~#`, r)
}

func mentions(text string) bool {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && strings.ContainsRune(" \t\n\r;&|(){}'\"`$=<>", r) }) {
		switch programName(w) {
		case "npx", "npx-cli.js", "npm", "npm-cli.js", "bunx", "bun", "pnpx", "pnpm", "yarn", "yarnpkg", "uvx", "uv", "pipx":
			return true
		}
	}
	return false
}

func mentionsAny(words []string) bool {
	for _, w := range words {
		if mentions(w) {
			return true
		}
	}
	return false
}
