package runline

import (
	"errors"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/wrapper"
)

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
	p.words = words[1:]
	return p.command(name, words[0])
}

// command takes apart a line whose program is name, written as word.
func (p *parser) command(name, word string) error {
	switch {
	case wrapper.Is(name):
		return p.wrapper(name, word)
	case isShell(name):
		return p.shell(name)
	case name == "cmd":
		return p.cmd()
	}
	return p.launcher(name, word)
}

func isShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh":
		return true
	}
	return false
}

func isWrapper(name string) bool { return isShell(name) || name == "cmd" || wrapper.Is(name) }

// wrapper takes apart the line of env, timeout and the like. Such a program stays in front of the
// package's own program, except an env that only sets variables.
func (p *parser) wrapper(name, word string) error {
	p.user = name
	w, err := wrapper.Parse(name, append([]string{word}, p.words...))
	var unknown *wrapper.Error
	switch {
	case errors.As(err, &unknown) && mentionsAny(p.words):
		return p.bad(unknown.Word, unknown.Why)
	case err != nil || len(w.Inner) == 0:
		return ErrNotLauncher
	}
	l := &p.line
	for _, set := range w.Set {
		variable, value, _ := strings.Cut(set, "=")
		if !variableName(variable) {
			return ErrNotLauncher
		}
		l.Env = append(l.Env, Assignment{variable, value})
	}
	if w.Dir != "" {
		l.Dir = join(l.Dir, w.Dir)
	}
	l.Unset = append(l.Unset, w.Unset...)
	if !w.Plain {
		l.Outer = append(l.Outer, w.Own...)
	}
	return p.inside(w.Inner)
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
