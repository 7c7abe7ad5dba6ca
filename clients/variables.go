package clients

import "strings"

// form is a way to write a variable in an entry. The client replaces it before it starts the
// server, so mcp-jail gets the value; in the file the text must stay.
//
// A form that has a name begins with Open and ends with Close. If Close is "", the name ends
// where letters, digits and underscores do. A form without a name is Open alone.
type form struct {
	Open, Close string
	Kind        kind
	Named       bool
}

// kind is what a variable stands for.
type kind string

// Kinds of variables.
const (
	FromEnv     kind = "environment" // a variable of the client's environment
	Input       kind = "input"       // what the client asks its user for
	Secret      kind = "secret"      // a value that the client keeps
	Workspace   kind = "workspace"   // the directory of the project
	Home        kind = "home"        // the home directory
	FileText    kind = "file"        // the content of a file
	commandText kind = "command"     // the output of a command
)

// Reference is a variable in a text.
type Reference struct {
	Text    string // as it is written
	Kind    kind
	Name    string // without the default
	Default string // what is after ":-"
}

// named and fixed make forms.
func named(kind kind, open, close string) form {
	return form{Open: open, Close: close, Kind: kind, Named: true}
}

func fixed(kind kind, text string) form { return form{Open: text, Kind: kind} }

// References returns the variables in a text, from left to right. Of forms that begin at the
// same byte the one with the longest Open counts.
func (c Client) References(text string) []Reference {
	var out []Reference
	for i := 0; i < len(text); {
		r, ok := c.reference(text[i:])
		if !ok {
			i++
			continue
		}
		out = append(out, r)
		i += len(r.Text)
	}
	return out
}

func (c Client) reference(text string) (found Reference, ok bool) {
	longest := 0
	for _, f := range c.Forms {
		if len(f.Open) <= longest || !strings.HasPrefix(text, f.Open) {
			continue
		}
		rest := text[len(f.Open):]
		end, after := 0, 0
		switch {
		case !f.Named:
		case f.Close == "":
			end = nameLength(rest)
			after = end
		default:
			end = strings.Index(rest, f.Close)
			after = end + len(f.Close)
		}
		// Without a name, or an end, it is plain text.
		if f.Named && end <= 0 {
			continue
		}
		longest, ok = len(f.Open), true
		found = Reference{Text: text[:len(f.Open)+after], Kind: f.Kind}
		found.Name, found.Default, _ = strings.Cut(strings.TrimSpace(rest[:end]), ":-")
	}
	return found, ok
}

// Runs reports whether the client may run a command to replace a part of a text. The form of a
// command counts in any place: clients nest forms, and a shell reads "`" as it does "$(".
func (c Client) Runs(text string) bool {
	for _, f := range c.Forms {
		if f.Kind == commandText && (strings.Contains(text, f.Open) || f.Open == "$(" && strings.Contains(text, "`")) {
			return true
		}
	}
	return false
}

func nameLength(s string) int {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return i
		}
	}
	return len(s)
}
