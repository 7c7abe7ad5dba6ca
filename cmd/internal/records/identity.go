package records

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Started is what is known of a start before anything of its server is read.
type Started struct {
	ID      string   // of --id
	Words   []string // the server's own line
	Program string   // the real path of what the first word starts; "" if nothing
	Dir     string   // the real path of the working directory
	Table   string   // the server's table in a configuration
	Project string   // the real path of the project's file that has the table; "" for the user's configuration
}

// WordsError reports an id that was given with other words than those of its file.
type WordsError struct {
	ID, Name     string // of the server's file
	Saved, Given []string
}

func (e *WordsError) Error() string {
	return show.Name(cmp.Or(e.Name, e.ID)) + ": its command is not the one that you wrapped\n" + strings.Join(e.Lines(), "\n")
}

// Lines are the command that was wrapped, and the new one.
func (e *WordsError) Lines() []string {
	return []string{"  wrapped:  " + terminal.ShownLine(e.Saved), "  now:      " + terminal.ShownLine(e.Given)}
}

// IDOf returns the key of a start: policy.Policy.KeptName is the same text. No two servers have one key. saved returns the
// words in the file of an id.
func IDOf(s Started, saved func(id string) ([]string, error)) (string, error) {
	switch {
	case s.ID != "" && !IsID(s.ID):
		return "", fmt.Errorf("--id %s is no id that mcp-jail wrap has made", policy.Abbreviate(s.ID))
	case s.ID != "":
		words, err := saved(s.ID)
		if err == nil && !SameWords(words, s.Words) {
			err = &WordsError{ID: s.ID, Saved: words, Given: s.Words}
		}
		if err != nil {
			return "", err
		}
		return s.ID, nil
	case s.Table != "":
		return policy.KeptName(s.Table, s.Project), nil
	}
	all, _ := json.Marshal(s) // of texts alone
	return Label(s.Words) + "-" + policy.ShortHash(string(all)), nil
}

// Label returns a short name for the server of a line, for people: it says nothing about who the server is.
func Label(words []string) string {
	label := ""
	for _, word := range words {
		word, _, _ = strings.Cut(word, " ") // a whole line in one word may have secrets
		if base := clean(path.Base(word)); base != "" && !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			if label = base; !slices.Contains(launchers, base) {
				break
			}
		}
	}
	return cut(label)
}

// launchers come before what a server is, in its line.
var launchers = []string{"npx", "uvx", "bunx", "pnpx", "npm", "exec", "uv", "tool", "run", "node", "python", "python3", "deno", "bun", "env", "sh", "bash"}

// clean returns a word with small letters, digits and "-" alone. The version of a package goes.
func clean(word string) string {
	word, _, _ = strings.Cut(word, "@")
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, word), "-")
}

const maxLabel = 40

func cut(label string) string {
	if len(label) > maxLabel {
		label = strings.TrimRight(label[:maxLabel], "-")
	}
	if label == "" {
		return "server"
	}
	return label
}

// FileName returns the name for the file of a server that its client calls something, without ".toml".
func FileName(called string) string { return cut(clean(called)) }

const (
	idDigits  = 12 // 60 bits
	keyDigits = 32 // of policy.ShortHash
	alphabet  = "0123456789abcdefghjkmnpqrstvwxyz"
)

// NewID returns an id that cannot be guessed, for a server that its client calls something.
func NewID(called string) string {
	random := make([]byte, idDigits)
	rand.Read(random)
	for i := range random {
		random[i] = alphabet[random[i]%32]
	}
	return FileName(called) + "-" + string(random)
}

// IsID reports whether a text has the form of an id. A key of another start never has.
func IsID(text string) bool { return hasEnd(text, idDigits) }

func hasEnd(text string, digits int) bool {
	label, end, _ := cutLast(text)
	return label != "" && len(label) <= maxLabel && len(end) == digits && strings.Trim(end, alphabet) == "" && clean(label) == label
}

func cutLast(text string) (before, after string, found bool) {
	i := strings.LastIndexByte(text, '-')
	if i < 0 {
		return "", text, false
	}
	return text[:i], text[i+1:], true
}

// KeyLabel returns what a key says for people: all of one that is no id and no key of words.
func KeyLabel(key string) string {
	label, _ := cutKey(key)
	return label
}

// ShortKey returns the name of a server without a file: LABEL-KEY8. That of a table is its key.
func ShortKey(key string) string {
	label, end := cutKey(key)
	if end == "" {
		return key
	}
	return label + "-" + end[:8]
}

// cutKey cuts the digits off an id, or off the key of words.
func cutKey(key string) (label, digits string) {
	if label, end, _ := cutLast(key); label != "" && (len(end) == keyDigits || len(end) == idDigits) && strings.Trim(end, alphabet) == "" {
		return label, end
	}
	return key, ""
}

// SameWords reports whether the words of a start are those of a file. A word of the file with "${…}", which the client
// replaces, stands for each word with the parts before and after it.
func SameWords(saved, given []string) bool {
	if len(saved) != len(given) {
		return false
	}
	for i, word := range saved {
		if !sameWord(word, given[i]) {
			return false
		}
	}
	return true
}

func sameWord(saved, given string) bool {
	before, rest, found := cutVariable(saved)
	if !found {
		return saved == given
	}
	given, ok := strings.CutPrefix(given, before)
	for ok {
		if before, rest, found = cutVariable(rest); !found {
			return strings.HasSuffix(given, before)
		}
		// The first place leaves the most for what follows.
		_, given, ok = strings.Cut(given, before)
	}
	return false
}

// cutVariable cuts a text at its first "${…}".
func cutVariable(text string) (before, after string, found bool) {
	start := strings.Index(text, "${")
	if start < 0 {
		return text, "", false
	}
	end := strings.IndexByte(text[start:], '}')
	if end < 0 {
		return text, "", false
	}
	return text[:start], text[start+end+1:], true
}
