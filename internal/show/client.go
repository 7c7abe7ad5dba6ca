package show

import "strings"

// Item returns a word of the list in a client's file. format is "json", "toml" or "yaml".
func Item(format, word string) string {
	word = strings.ToValidUTF8(word, "\ufffd")
	if format == "json" {
		return jsonString(word)
	}
	return TOML(word) // which YAML reads alike
}

// Expands reports whether some client could replace part of a word before it starts a server:
// ${NAME}, ${NAME:-x}, ${env:NAME}, ${input:ID}, $NAME, $(COMMAND), {env:NAME}, {file:PATH},
// %NAME%. It is for files of clients that are not known, and wider than each client.
func Expands(word string) bool {
	for i := 0; i+1 < len(word); i++ {
		switch c := word[i+1]; word[i] {
		case '$':
			if c == '{' || c == '(' || isNameByte(c) {
				return true
			}
		case '{':
			if strings.HasPrefix(word[i:], "{env:") || strings.HasPrefix(word[i:], "{file:") || c == '{' {
				return true
			}
		case '%':
			if end := strings.IndexByte(word[i+1:], '%'); end > 0 && isNameByte(c) {
				return true
			}
		}
	}
	return false
}

func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
