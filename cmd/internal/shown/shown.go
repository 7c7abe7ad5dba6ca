// Package shown writes command lines for people, without the secrets that they probably have: passwords
// in URLs, and the values of flags that are named like secrets.
package shown

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// Hidden takes the place of a secret.
const Hidden = "***"

// Shortest is the least length of a value that is hidden wherever it is, in bytes. A shorter one could
// be a part of any text.
const Shortest = 6

// password matches the password of a URL.
var password = lazy.Regexp(`(://[^/\s:@"']*:)([^@\s/"']+)@`)

// secretFlag matches a flag whose value is probably a secret.
var secretFlag = lazy.Regexp(`(?i)^--?[a-z_-]*(key|token|secret|password|passwd|credential)s?$`)

// Words returns a command line for people: without passwords in URLs, and without the values
// of flags that are named like secrets.
func Words(argv []string) []string {
	shown := make([]string, len(argv))
	for i, word := range argv {
		shown[i] = password().ReplaceAllString(word, "${1}"+Hidden+"@")
		flag, _, joined := strings.Cut(word, "=")
		switch {
		case joined && secretFlag().MatchString(flag):
			shown[i] = flag + "=" + Hidden
		case i > 0 && secretFlag().MatchString(argv[i-1]) && !strings.HasPrefix(word, "-"):
			shown[i] = Hidden
		case strings.ContainsAny(word, " \t"):
			shown[i] = shownLine(shown[i])
		}
	}
	return shown
}

// shownLine returns a word that may be a whole command line, as Words does.
func shownLine(line string) string {
	words := Split(line)
	var shown strings.Builder
	for i, word := range Words(words) {
		at := strings.Index(line, words[i])
		shown.WriteString(line[:at] + word)
		line = line[at+len(words[i]):]
	}
	return shown.String() + line
}

// Split returns the words of a command line in one word, without their quotes.
func Split(line string) []string {
	words := strings.Fields(line)
	for i, word := range words {
		words[i] = strings.Trim(word, `'"`)
	}
	return words
}

// Line returns a command line as Words does, as a line for a shell.
func Line(argv []string) string { return show.Spelled(Words(argv)) }

// Secrets returns the parts of a command line that Words hides.
func Secrets(argv []string) (words []string) {
	for i, shown := range Words(argv) {
		if shown == argv[i] {
			continue
		}
		word := argv[i]
		if inner := Split(word); len(inner) > 1 && shown != Hidden {
			if found := Secrets(inner); found != nil {
				words = append(words, found...)
				continue
			}
		}
		if flag, value, joined := strings.Cut(word, "="); joined && secretFlag().MatchString(flag) {
			word = strings.Trim(value, `'"`)
		}
		if m := password().FindStringSubmatch(word); m != nil {
			word = m[2]
		}
		words = append(words, word)
	}
	return words
}
