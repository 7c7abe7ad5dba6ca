package terminal

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Hidden takes the place of a secret.
const Hidden = "***"

// Shortest is the least length of a value that is hidden wherever it is, in bytes. A shorter one could
// be a part of any text.
const Shortest = 6

// password matches the password of a URL.
var password = show.Pattern(`(://[^/\s:@"']*:)([^@\s/"']+)(@)`)

// assigned matches NAME=VALUE and NAME:VALUE, with or without dashes, whose value is probably a secret.
var assigned = show.Pattern(`(?is)((?:key|token|secret|password|passwd|passphrase|credential|auth|cookie|session|_pat|_pass|_dsn)s?["']?[=:])(.+)()`)

// announced matches a word that is probably before a secret: a flag, the name of a header, or a scheme.
var announced = show.Pattern(`(?i)^--?[a-z0-9_-]*(key|token|secret|password|passwd|credential)s?$|(key|token|secret|authorization|bearer):$|(^|:)(bearer|basic)$`)

// ShownWords returns a command line for people: without passwords in URLs, and without the values
// of flags, variables and headers that are named like secrets.
func ShownWords(argv []string) []string {
	shown, _ := hide(argv)
	return shown
}

// SecretWords returns the parts of a command line that ShownWords hides.
func SecretWords(argv []string) []string {
	_, secrets := hide(argv)
	return secrets
}

func hide(argv []string) (shown, secrets []string) {
	for i, word := range argv {
		switch words := SplitLine(word); {
		case i > 0 && announced().MatchString(argv[i-1]) && !strings.HasPrefix(word, "-") && !announced().MatchString(word):
			secrets, word = append(secrets, word), Hidden
		case len(words) > 1: // it may be a whole command line
			inner, found := hide(words)
			line := word
			word = ""
			for j, part := range inner {
				at := strings.Index(line, words[j])
				word, line = word+line[:at]+part, line[at+len(words[j]):]
			}
			secrets, word = append(secrets, found...), word+line
		default:
			for _, pattern := range []*regexp.Regexp{password(), assigned()} {
				for _, m := range pattern.FindAllStringSubmatch(word, -1) {
					secrets = append(secrets, strings.Trim(m[2], `'"`))
				}
				word = pattern.ReplaceAllString(word, "${1}"+Hidden+"${3}")
			}
		}
		shown = append(shown, word)
	}
	return shown, secrets
}

// SplitLine returns the words of a command line in one word, without their quotes. A blank in quotes that end parts none.
func SplitLine(line string) []string {
	var quote rune
	words := strings.FieldsFunc(line, func(r rune) bool {
		switch {
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == r:
			quote = 0
		}
		return quote == 0 && unicode.IsSpace(r)
	})
	if quote != 0 {
		words = strings.Fields(line)
	}
	for i, word := range words {
		if n := len(word) - 1; n > 0 && word[0] == word[n] && strings.ContainsRune(`'"`, rune(word[0])) {
			words[i] = word[1:n]
		}
	}
	return words
}

// ShownLine returns a command line as ShownWords does, as a line for a shell.
func ShownLine(argv []string) string { return show.Spelled(ShownWords(argv)) }
