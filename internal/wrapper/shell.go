package wrapper

import (
	"slices"
	"strings"
)

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh"}, name)
}

// shell takes apart the line of a shell that runs one simple command, as sh -c 'A=1 exec npx x'. Inner is
// empty if the shell runs a file or what it reads.
func shell(argv []string) (l line, err error) {
	l.Plain = true
	text, isCommand := "", false
	for _, w := range argv[1:] {
		if isCommand {
			text = w
			break
		}
		switch {
		case w == "--login":
		case !isOption(w):
			return l, nil
		case strings.Trim(w[1:], "cleu") != "":
			return l, &Error{w, "only -c, -l, -e and -u of a shell are understood"}
		default:
			isCommand = strings.Contains(w, "c") // the next word is the command, also after -lc
		}
	}
	words, assignments, err := splitCommand(text)
	if err != nil {
		return l, err
	}
	l.Set, l.Inner = words[:assignments:assignments], words[assignments:]
	if len(l.Inner) > 0 && l.Inner[0] == "exec" {
		l.Inner = l.Inner[1:]
	}
	if len(l.Inner) > 0 && isKeyword(l.Inner[0]) {
		return l, &Error{l.Inner[0], onlySimple}
	}
	return l, nil
}

const onlySimple = "only one command that needs no shell is understood"

// isKeyword reports whether a word is a command of the shell itself.
func isKeyword(word string) bool {
	return strings.HasPrefix(word, "-") || slices.Contains([]string{
		"if", "for", "while", "until", "case", "select", "function", "time", "coproc", "command", "builtin", "eval", "source", ".",
		"cd", "export", "set", "exec", "nohup", "alias",
	}, word)
}

// windowsShell takes apart cmd /c COMMAND, if each character of it is one that cmd leaves alone.
func windowsShell(argv []string) (l line, err error) {
	l.Plain = true
	if len(argv) < 3 || !strings.EqualFold(argv[1], "/c") {
		return l, nil
	}
	words := argv[2:]
	if len(words) == 1 {
		words = strings.Fields(words[0])
	}
	const plain = `abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@/._-+:\=~#`
	for _, w := range words {
		if w == "" || strings.Trim(w, plain) != "" {
			return l, &Error{w, "cmd may give a character in it a meaning"}
		}
	}
	l.Inner = words
	return l, nil
}

// splitCommand returns the words of a simple command for a shell, of which the first are assignments: NAME=value
// with a name that is not quoted. A text with an expansion, a pipe, a redirection, a second command or a
// comment is not understood.
func splitCommand(text string) (words []string, assignments int, err error) {
	s := splitter{leading: true, plain: true}
	for i := 0; i < len(text); {
		n, err := s.next(text[i:])
		if err != nil {
			return nil, 0, err
		}
		i += n
	}
	s.end()
	return s.words, s.assignments, nil
}

// A splitter has the words of a text so far, and the one that has begun.
type splitter struct {
	words       []string
	assignments int
	leading     bool // each word so far is an assignment

	word   strings.Builder
	in     bool // a word has begun
	plain  bool // nothing of it was quoted, and it has no "=" yet
	assign bool // it is an assignment
}

func (s *splitter) end() {
	if !s.in {
		return
	}
	s.words = append(s.words, s.word.String())
	if s.leading = s.leading && s.assign; s.leading {
		s.assignments++
	}
	s.word.Reset()
	s.in, s.plain, s.assign = false, true, false
}

// quoted adds text that a shell takes as it is.
func (s *splitter) quoted(text string) {
	s.word.WriteString(text)
	s.in, s.plain = true, false
}

// next reads a character or a quoted text, and returns its length.
func (s *splitter) next(text string) (n int, err error) {
	meaning := &Error{text[:1], "a shell gives this character a meaning: " + onlySimple}
	switch c := text[0]; {
	case c == ' ' || c == '\t':
		s.end()
	case c == '\'':
		end := strings.IndexByte(text[1:], '\'')
		if end < 0 {
			return 0, &Error{"'", "the quote is not closed"}
		}
		s.quoted(text[1 : 1+end])
		return end + 2, nil
	case c == '"':
		return s.doubleQuoted(text)
	case c == '\\':
		if len(text) == 1 || text[1] == '\n' {
			return 0, &Error{`\`, "the line goes on"}
		}
		s.quoted(text[1:2])
		return 2, nil
	case strings.IndexByte("$`*?[]{}|&;<>()!", c) >= 0, c < ' ', c == 0x7f:
		return 0, meaning
	case strings.IndexByte("#^%~=", c) >= 0 && !s.in, c == '~' && s.afterSeparator():
		return 0, meaning
	default:
		if c == '=' && s.plain && isName(s.word.String()) {
			s.assign, s.plain = true, false
		}
		s.word.WriteByte(c)
		s.in = true
	}
	return 1, nil
}

// afterSeparator reports whether a shell may expand a "~" at this place of a word.
func (s *splitter) afterSeparator() bool {
	word := s.word.String()
	return strings.HasSuffix(word, ":") || strings.HasSuffix(word, "=")
}

// doubleQuoted adds the text in double quotes, and returns its length, quotes included.
func (s *splitter) doubleQuoted(text string) (n int, err error) {
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			s.quoted("")
			return i + 1, nil
		case c == '$' || c == '`' || c == '!', c == '\\' && (i+1 == len(text) || text[i+1] == '\n'):
			return 0, &Error{string(c), "a shell gives this character a meaning: " + onlySimple}
		case c == '\\' && strings.IndexByte("`\"\\$", text[i+1]) >= 0:
			i++
		}
		s.word.WriteByte(text[i])
	}
	return 0, &Error{`"`, "the quote is not closed"}
}

func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
