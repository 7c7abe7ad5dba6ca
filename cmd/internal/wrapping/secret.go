package wrapping

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/show"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// hidden takes the place of a secret.
const hidden = "***"

// password matches the password of a URL.
var password = lazy.Regexp(`(://[^/\s:@"']*:)([^@\s/"']+)@`)

// secretFlag matches a flag whose value is probably a secret.
var secretFlag = lazy.Regexp(`(?i)^--?[a-z-]*(key|token|secret|password|passwd|credential)s?$`)

// Shown returns a command line for people: without passwords in URLs, and without the values
// of flags that are named like secrets.
func Shown(argv []string) []string {
	shown := make([]string, len(argv))
	for i, word := range argv {
		shown[i] = password().ReplaceAllString(word, "${1}"+hidden+"@")
		flag, _, joined := strings.Cut(word, "=")
		switch {
		case joined && secretFlag().MatchString(flag):
			shown[i] = flag + "=" + hidden
		case i > 0 && secretFlag().MatchString(argv[i-1]) && !strings.HasPrefix(word, "-"):
			shown[i] = hidden
		case strings.ContainsAny(word, " \t"):
			shown[i] = shownLine(shown[i])
		}
	}
	return shown
}

// shownLine returns a word that may be a whole command line, as Shown does.
func shownLine(line string) string {
	words := lineWords(line)
	var shown strings.Builder
	for i, word := range Shown(words) {
		at := strings.Index(line, words[i])
		shown.WriteString(line[:at] + word)
		line = line[at+len(words[i]):]
	}
	return shown.String() + line
}

// lineWords returns the words of a command line in one word, without their quotes.
func lineWords(line string) []string {
	words := strings.Fields(line)
	for i, word := range words {
		words[i] = strings.Trim(word, `'"`)
	}
	return words
}

// ShownLine returns a command line as Shown does, as a line for a shell.
func ShownLine(argv []string) string { return show.Spelled(Shown(argv)) }

// Hide returns a text without the probable secrets of a command line.
func Hide(text string, argv []string) string {
	for _, word := range secretWords(argv) {
		if len(word) >= shortestSecret {
			text = strings.ReplaceAll(text, word, hidden)
		}
	}
	return text
}

// ShowsSecret reports whether the command line of an entry has a word that Shown changes, or the
// value of a variable of the entry.
func (e Entry) ShowsSecret() bool {
	return len(secretWords(e.Argv())) > 0 || slices.ContainsFunc(e.Env, func(v clients.Variable) bool {
		return len(v.Value) >= shortestSecret && slices.ContainsFunc(e.Args, func(word string) bool { return strings.Contains(word, v.Value) })
	})
}

func secretWords(argv []string) (words []string) {
	for i, shown := range Shown(argv) {
		if shown == argv[i] {
			continue
		}
		word := argv[i]
		if inner := lineWords(word); len(inner) > 1 && shown != hidden {
			if found := secretWords(inner); found != nil {
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
