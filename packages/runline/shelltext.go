package runline

import (
	"slices"
	"strings"
)

// shellText returns the text that a shell runs as a command. ok is false if the program is no shell,
// or runs a file or what it reads.
func shellText(name string, words []string) (text string, ok bool) {
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "busybox", "csh", "tcsh", "nu", "xonsh":
		return posixText(words)
	case "cmd":
		for i, w := range words {
			if strings.EqualFold(w, "/c") || strings.EqualFold(w, "/k") {
				// To cmd a backslash is part of a path.
				return strings.ReplaceAll(strings.Join(words[i+1:], " "), `\`, `\\`), true
			}
		}
	case "powershell", "pwsh":
		for i, w := range words {
			if w = strings.ToLower(w); len(w) > 1 && w[0] == '-' && (strings.HasPrefix("-command", w) || w == "-commandwithargs") {
				return strings.ReplaceAll(strings.Join(words[i+1:], " "), `\`, `\\`), true
			}
		}
	}
	return "", false
}

// posixText returns the text after -c: the first word that is no option.
func posixText(words []string) (text string, ok bool) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-o" || w == "+o" || w == "-O" || w == "+O" || w == "--rcfile" || w == "--init-file":
			i++
		case strings.HasPrefix(w, "--command="):
			return strings.TrimPrefix(w, "--command="), true
		case w == "--command", len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Contains(w, "c"):
			ok = true
		case i == 0 && (w == "sh" || w == "ash"): // busybox sh
		case w != "" && (w[0] == '-' || w[0] == '+'):
		default:
			return w, ok
		}
	}
	return "", false
}

// serverCommands returns the commands of a text for a shell of which one becomes the server: the last
// one that does more than end the text, what is in a pipe or an alternative with it, and what exec
// starts. In a text with conditions or loops, each counts.
func serverCommands(text string) (commands [][]string) {
	parts := splitCommands(text)
	all := slices.ContainsFunc(parts, func(p part) bool { return p.control })
	last := len(parts) - 1
	for last > 0 && parts[last].trivial() {
		last--
	}
	first := last
	for first > 0 && parts[first].after != "&&" && parts[first].after != ";" && parts[first].after != "&" {
		first--
	}
	for i, p := range parts {
		if len(p.words) > 0 && (all || p.exec || i >= first && i <= last) {
			commands = append(commands, p.words)
		}
	}
	return commands
}

// A part is a simple command of a text.
type part struct {
	words   []string // without assignments and words of the shell's syntax
	after   string   // the operator before it: ";", "&&", "||", "|", "&", or ""
	exec    bool
	control bool // it belongs to a condition, a loop or a function
}

func (p part) trivial() bool {
	return len(p.words) == 0 || slices.Contains([]string{"exit", "echo", "wait", "true", ":", "return", "printf", "kill", "trap", "cd"}, p.words[0])
}

func (p *part) end(parts []part) []part {
	for len(p.words) > 0 {
		switch w := p.words[0]; {
		case slices.Contains([]string{"if", "then", "else", "elif", "while", "until", "do", "done", "fi", "for", "case", "esac", "{", "}", "function"}, w):
			p.control = p.control || w != "{" && w != "}"
		case w == "exec":
			p.exec = true
		case w == "eval":
			p.words = append(p.words[:1:1], strings.Fields(strings.Join(p.words[1:], " "))...)
		case p.exec && w == "-a" && len(p.words) > 1: // the name of the program follows
			p.words = p.words[1:]
		case p.exec && strings.HasPrefix(w, "-"):
		case w == "!", w == "command", w == "builtin", w == "call", assignment(w):
		default:
			return append(parts, *p)
		}
		p.words = p.words[1:]
	}
	return append(parts, *p)
}

// A splitter splits a text for a shell into its simple commands.
type splitter struct {
	parts []part
	part  part
	word  strings.Builder
	in    bool // a word has begun
}

func (s *splitter) add(text string) {
	s.word.WriteString(text)
	s.in = true
}

func (s *splitter) endWord() {
	if s.in {
		s.part.words = append(s.part.words, s.word.String())
	}
	s.word.Reset()
	s.in = false
}

func (s *splitter) endPart(after string) {
	if s.endWord(); len(s.part.words) > 0 {
		s.parts = s.part.end(s.parts)
	}
	s.part = part{after: after}
}

// splitCommands splits a text for a shell into its simple commands. Expansions stay as they are
// written, and what a substitution runs is no command of the text.
func splitCommands(text string) []part {
	s := &splitter{}
	for i := 0; i < len(text); i++ {
		if n := s.literal(text[i:]); n > 0 {
			i += n - 1
			continue
		}
		switch c := text[i]; c {
		case ' ', '\t', '\r':
			s.endWord()
		case '>', '<': // a redirection: its target is no command
			if strings.Trim(s.word.String(), "0123456789") == "" {
				s.word.Reset()
				s.in = false
			}
			s.endWord()
			i = skipTarget(text, i)
		case ';', '\n':
			s.endPart(";")
		case '&', '|':
			operator := string(c)
			if i+1 < len(text) && (text[i+1] == c || text[i+1] == '&') {
				operator += strings.Trim(text[i+1:i+2], map[byte]string{'|': "&"}[c])
				i++
			}
			s.endPart(operator)
		case '(', ')':
			s.endPart(s.part.after)
		default:
			s.add(string(c))
		}
	}
	s.endPart("")
	return s.parts
}

// literal adds what a text begins with to the word, if that is quoted or an expansion, and leaves out
// a comment. It returns the length, or 0.
func (s *splitter) literal(text string) int {
	n := 0
	switch c := text[0]; {
	case c == '\\' && len(text) > 1:
		if n = 2; text[1] != '\n' {
			s.add(text[1:2])
		}
	case c == '\'' || c == '"':
		n = quotedLength(text)
		s.add(strings.Trim(text[:n], text[:1]))
	case c == '`':
		n = quotedLength(text)
		s.add(text[:n])
	case c == '$' && len(text) > 1 && (text[1] == '(' || text[1] == '{'):
		n = 1 + nestedLength(text[1:])
		s.add(text[:n])
	case c == '#' && !s.in:
		if n = strings.IndexByte(text, '\n'); n < 0 {
			n = len(text)
		}
	}
	return n
}

// quotedLength returns the length of the quoted text that a text begins with, quotes included.
func quotedLength(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && text[0] != '\'':
			i++
		case text[i] == text[0]:
			return i + 1
		}
	}
	return len(text)
}

// nestedLength returns the length of the brackets that a text begins with, and what is in them.
func nestedLength(text string) int {
	open, closed, depth := text[0], byte(')'), 0
	if open == '{' {
		closed = '}'
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '\'' || c == '"' || c == '`':
			i += quotedLength(text[i:]) - 1
		case c == open:
			depth++
		case c == closed:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// skipTarget returns the index of the last byte of a redirection that begins at i.
func skipTarget(text string, i int) int {
	for i+1 < len(text) && strings.IndexByte("<>&|- \t", text[i+1]) >= 0 {
		i++
	}
	for i+1 < len(text) && strings.IndexByte(" \t\r\n;&|()<>", text[i+1]) < 0 {
		if c := text[i+1]; c == '\'' || c == '"' {
			i += quotedLength(text[i+1:]) - 1
		}
		i++
	}
	return i
}
