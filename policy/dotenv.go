package policy

import (
	"fmt"
	"strings"
)

// A DotenvFile is the text of a file of variables, such as .env. It is read as docs/policy.md "Variables of a file"
// says: NAME=value lines, perhaps after "export", with comments and quotes. Nothing in a value is expanded. The
// libraries for that expand ${…}, and refuse the whole file for one line.
type DotenvFile string

// Value returns the value of the last line for a variable. ok is false if there is none. The error says which line has
// a value that does not end, or is followed by more.
func (f DotenvFile) Value(name string) (value string, ok bool, err error) {
	f.each(func(key, text string, line int, bad error) {
		if key == name {
			if value, ok, err = text, true, nil; bad != nil {
				err = fmt.Errorf("line %d: %w", line, bad)
			}
		}
	})
	return value, ok, err
}

func (f DotenvFile) each(do func(key, value string, line int, err error)) {
	rest := strings.ReplaceAll(strings.TrimPrefix(string(f), "\ufeff"), "\r\n", "\n")
	for line := 1; rest != ""; {
		text, after, _ := strings.Cut(rest, "\n")
		read := text + "\n" // what this assignment consists of
		before, value, is := strings.Cut(text, "=")
		key := strings.TrimSpace(before)
		if words := strings.Fields(before); len(words) == 2 && words[0] == "export" {
			key = words[1]
		}
		if is && key != "" && !strings.ContainsAny(key, "# \t\"'") {
			begin := len(text) - len(value)
			value, length, err := dotenvValue(rest[begin:])
			if err != nil { // the next line may be another variable
				length = len(text) - begin
			}
			do(key, value, line, err)
			_, after, _ = strings.Cut(rest[begin+length:], "\n")
			read = rest[:len(rest)-len(after)]
		}
		line += strings.Count(read, "\n")
		rest = after
	}
}

// dotenvValue reads the value at the beginning of a text, and returns how long it is with its quotes.
func dotenvValue(text string) (value string, length int, err error) {
	at := len(text) - len(strings.TrimLeft(text, " \t"))
	if at == len(text) || !strings.ContainsRune("'\"`", rune(text[at])) {
		line, _, _ := strings.Cut(text, "\n")
		for i := range line {
			if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
				return strings.TrimSpace(line[:i]), len(line), nil
			}
		}
		return strings.TrimSpace(line), len(line), nil
	}
	var out strings.Builder
	quote := text[at]
	for i := at + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			rest, _, _ := strings.Cut(text[i+1:], "\n")
			if rest = strings.TrimSpace(rest); rest != "" && rest[0] != '#' {
				return "", 0, fmt.Errorf("more follows after the quote that ends the value")
			}
			return out.String(), i + 1, nil
		case c == '\\' && quote == '"' && i+1 < len(text):
			i++
			if escape := strings.IndexByte(`nrt"\`, text[i]); escape >= 0 {
				out.WriteByte("\n\r\t\"\\"[escape])
			} else {
				out.WriteString(text[i-1 : i+1])
			}
		default:
			out.WriteByte(c)
		}
	}
	return "", 0, fmt.Errorf("the quoted value does not end")
}
