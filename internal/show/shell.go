package show

import (
	"runtime"
	"strings"
)

// onWindows reports whether lines are for the shells of Windows.
const onWindows = runtime.GOOS == "windows"

// bare are the characters that no shell acts on after the first one of a word. At the beginning,
// zsh acts on "=", and fish on "%".
const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@%="

// Word returns a text as one word for a shell: sh, bash, zsh and fish read it alike, and on Windows
// PowerShell and cmd.exe. ok is false if the text has characters that do not show, since a terminal
// changes them before the user copies the line, or that one of these shells would act on. Quotes do not
// hide a leading "-": see [Typed].
func Word(s string) (word string, ok bool) {
	if onWindows {
		word, ok := windowsWord(s)
		return word, ok && Line(s) == s
	}
	return quoteWord(s), Line(s) == s
}

// quoteWord quotes a word. A backslash is outside the quotes, since fish acts on it inside.
func quoteWord(s string) string {
	if onWindows {
		word, _ := windowsWord(s)
		return word
	}
	return unixWord(s)
}

func unixWord(s string) string {
	if s != "" && strings.Trim(s, bare) == "" && s[0] != '=' && s[0] != '%' {
		return s
	}
	return "'" + strings.NewReplacer("'", `'\''`, `\`, `'\\'`).Replace(s) + "'"
}

// Words is [Word] for the words of a whole command line.
func Words(words []string) (line string, ok bool) {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i], ok = Word(w); !ok {
			return "", false
		}
	}
	return strings.Join(out, " "), true
}

// Typed proposes a line for a shell: a command that the caller knows, and operands that it does not.
// If an operand cannot be written, or the command would read it as a flag, it says why there is no line.
// After a command that ends with " --" no operand is a flag.
func Typed(command string, operands ...string) string {
	line, why := typed(command, operands, onWindows)
	if why != "" {
		return "(there is no line that a shell would read as meant: the name " + why + ")"
	}
	return line
}

// TypedOK is Typed for callers that say it in other words when there is no line.
func TypedOK(command string, operands ...string) (line string, ok bool) {
	line, why := typed(command, operands, onWindows)
	return line, why == ""
}

func typed(command string, operands []string, windows bool) (line, why string) {
	line = command
	for _, o := range operands {
		word := unixWord(o)
		switch {
		case strings.HasPrefix(o, "-") && !strings.HasSuffix(command, " --"):
			return "", `begins with "-"`
		case Line(o) != o:
			return "", "has characters that do not show"
		case windows:
			var ok bool
			if word, ok = windowsWord(o); !ok {
				return "", "is one that shells of Windows read in another way"
			}
		}
		line += " " + word
	}
	return line, ""
}

// Spelled shows a command line, quoted as a shell would need it. It is for people to read: what
// does not show is replaced as [Line] does.
func Spelled(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Line(quoteWord(w))
	}
	return strings.Join(out, " ")
}

// Flag shows a flag with its path as a user types it into a shell. A "~" at the start, which
// mcp-jail and the shell both replace, stays outside of the quotes.
func Flag(flag, path string) string {
	return flag + " " + Line(quotePath(path))
}

// Path is [Word] for a path whose "~/" at the start mcp-jail and the shell both replace.
func Path(path string) (word string, ok bool) {
	if onWindows {
		return Word(path)
	}
	return quotePath(path), Line(path) == path
}

func quotePath(path string) string {
	if onWindows {
		return quoteWord(path) // mcp-jail alone replaces the "~"
	}
	switch rest, isHome := strings.CutPrefix(path, "~/"); {
	case path == "~" || path == "~/":
		return path
	case isHome:
		return "~/" + quoteWord(rest)
	}
	return quoteWord(path)
}

// Program returns the program of a command without what may be arguments in the same word: a flag, a
// URL, or a value for a name, each of which may be or have a secret. Users write a whole line into one word.
func Program(command string) string {
	for i := 0; i < len(command); {
		word, _, _ := strings.Cut(command[i:], " ")
		name, _, given := strings.Cut(word, "=")
		switch {
		case i > 0 && (len(word) > 1 && word[0] == '-' || strings.Contains(word, "://")):
			return command[:i] + "…"
		case given && !strings.Contains(name, "/"):
			return command[:i] + name + "=…"
		}
		i += len(word) + 1
	}
	return command
}

// InDir returns the line that a shell runs in another directory, and stays where it is. Every shell of
// [Word] reads it alike. line is one of [Typed].
func InDir(dir, line string) string {
	if onWindows || Line(dir) != dir || strings.HasPrefix(line, "(") {
		return "(type " + line + " in " + Name(dir) + ")"
	}
	return "sh -c " + unixWord("cd "+unixWord(dir)+" && "+line)
}
