package meaning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/environ"
	"github.com/mcp-jail/mcp-jail/policy"
)

// DotenvNames returns all names that a client may find in a file of variables. Clients read such
// files in different ways: a line may end with CR alone, ":" may stand for "=", and a value may go
// on over several lines, of which each can be one with a name. The error names a line in which a
// client may find another name. For a project, the names are those that are [environ.IsName], and
// those of the table.
func DotenvNames(text string, project bool) (names []string, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	for i, line := range strings.Split(text, "\n") {
		for _, part := range strings.Split(line, "\r") {
			name, why := dotenvName(part)
			if why != "" && err == nil {
				err = fmt.Errorf("line %d: %s", i+1, why)
			}
			_, known := environ.Find(name)
			if policy.CheckVariable(name) == nil && !slices.Contains(names, name) && (!project || known || environ.IsName(name, true)) {
				names = append(names, name)
			}
		}
	}
	return names, err
}

// dotenvName returns the name in a line of a file of variables, or "". why is set if clients may
// find different names there. The expression of npm's dotenv, which many have taken over, allows any
// blanks of JavaScript around a name, line ends among them, and sees a line begin after U+2028 even
// in a comment. Other readers split at "=" and trim.
func dotenvName(line string) (name, why string) {
	if i := strings.IndexAny(line, "\v\f\x1c\x1d\x1e\u0085\u2028\u2029"); i >= 0 {
		return "", fmt.Sprintf("U+%04X ends a line for some clients only", []rune(line[i:])[0])
	}
	line = strings.Trim(line, " \t")
	end := strings.IndexAny(line, "=:")
	switch {
	case strings.HasPrefix(line, "#"):
		return "", ""
	case end < 0 && strings.HasSuffix(line, `\`):
		return "", `"\" joins a name with the next line for some clients`
	case end < 0:
		return "", ""
	case end == 0:
		return "", `"` + line[:1] + `" belongs to the line before for some clients`
	}
	for _, c := range line[:end] {
		if c < ' ' && c != '\t' || c > '~' {
			return "", fmt.Sprintf("U+%04X before a \"%c\" is part of the name for some clients, and a blank for others", c, line[end])
		}
	}
	// "export NAME=x" sets NAME; of other words, the last counts if it is a name of the table.
	words := strings.Fields(line[:end])
	if len(words) > 1 && words[0] == "export" {
		words = words[1:]
	}
	last := strings.Trim(words[len(words)-1], "\"'`")
	if _, known := environ.Find(last); len(words) == 1 || known { // else it is a text that goes on
		return last, ""
	}
	return "", ""
}

// DotenvVariables returns the variables in a text like .env. Values in quotes may have several lines. In
// double quotes, \n is the end of a line.
func DotenvVariables(text string) (env []clients.Variable) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		name, why := dotenvName(line)
		at := strings.IndexAny(line, "=:")
		if name == "" || why != "" || at < 0 {
			text = rest
			continue
		}
		value := strings.TrimLeft(text[at+1:], " \t")
		text = rest
		if value != "" && strings.ContainsRune("\"'`", rune(value[0])) {
			if end := strings.IndexByte(value[1:], value[0]); end >= 0 {
				quote := value[0]
				_, text, _ = strings.Cut(value[end+2:], "\n")
				value = value[1 : end+1]
				if quote == '"' {
					value = strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(value)
				}
				env = append(env, clients.Variable{Name: name, Value: value})
				continue
			}
		}
		value, _, _ = strings.Cut(value, "\n")
		value, _, _ = strings.Cut(value, " #")
		env = append(env, clients.Variable{Name: name, Value: strings.TrimSpace(value)})
	}
	return env
}
