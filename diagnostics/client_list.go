package diagnostics

import "strings"

// ClientList says how the file of a client writes the arguments of a server.
type ClientList struct {
	Format string // "json", "toml" or "yaml"
	Key    string // of the list, such as "args"
	Whole  bool   // the list begins with the program
	Where  string // the client, and the file if it is known, in words
}

// text returns the list of a command line, in one line that can be pasted into the file.
func (l ClientList) text(line []string) string {
	if !l.Whole {
		line = line[1:]
	}
	words := make([]string, len(line))
	for i, w := range line {
		if l.Format == "json" {
			words[i] = string(EscapeJSON(encode(w)))
		} else {
			words[i] = tomlString(strings.ToValidUTF8(w, "\ufffd")) // which YAML reads the same
		}
	}
	open := map[string]string{"toml": l.Key + " = [", "yaml": l.Key + ": ["}[l.Format]
	if open == "" {
		open = string(encode(l.Key)) + ": ["
	}
	return open + strings.Join(words, ", ") + "]"
}

// heading says where the list belongs.
func (l ClientList) heading() string {
	return "  for " + sanitize(l.Where) + ", in place of the whole list " + l.Key + "; if a comma stands behind that, keep it:\n\n"
}

// writeCommandLine writes the client's new command line, as typed into a shell if that is
// possible, and as the list in each of the files.
func writeCommandLine(b *strings.Builder, line []string, lists []ClientList) {
	if len(line) == 0 {
		return
	}
	words := make([]string, len(line))
	for i, w := range line {
		words[i] = shellWord(w)
	}
	typed := strings.Join(words, " ")
	shown := sanitize(typed) == typed
	if shown {
		b.WriteString("  the new command line, for a shell:\n\n" + typed + "\n")
	}
	if len(lists) == 0 {
		lists = []ClientList{{Format: "json", Key: "args", Where: "a client's file of JSON"}}
	}
	for i, l := range lists {
		if i > 0 || shown {
			b.WriteString("\n")
		}
		b.WriteString(l.heading() + l.text(line) + "\n")
	}
}
