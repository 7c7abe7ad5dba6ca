package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// ClientList says how the file of a client writes the arguments of a server.
type ClientList struct {
	Format string   // "json", "toml" or "yaml"
	Key    string   // of the list, such as "args"
	Whole  bool     // the list begins with the program
	Where  []string // the clients, each with its file if that is known, in words

	// Line is the command line that is in the file now: grants are added to it, and not to
	// the session's. nil means that the file is not known, or has no such entry.
	Line   []string
	Secret bool   // Line has a secret: it is not shown
	Home   string // what "~/" in Line means
	// Workspace is the workspace of the last session. It is set only for an entry for all projects:
	// there, paths are written whole, since a relative path would grant as much in each project.
	Workspace string
	Reload    string // what makes the client read its file again, in sentences
}

func (l ClientList) text(line []string) string {
	if !l.Whole {
		line = line[1:]
	}
	open := map[string]string{"toml": l.Key + " = [", "yaml": l.Key + ": ["}[l.Format]
	if open == "" {
		open = string(encode(l.Key)) + ": ["
	}
	return open + l.items(line) + "]"
}

func (l ClientList) items(line []string) string {
	words := make([]string, len(line))
	for i, w := range line {
		words[i] = show.Item(l.Format, w)
	}
	return strings.Join(words, ", ")
}

func (l ClientList) heading() string {
	if l.Secret {
		return "  for " + show.Line(InWords(l.Where)) + ", before the \"--\" of the list " + l.Key + ", which has a secret and is not shown:\n\n"
	}
	return "  for " + show.Line(InWords(l.Where)) + ", in place of the whole list " + l.Key + "; keep the comma after it, if there is one:\n\n"
}

// addition is what a client's command line needs for some grants.
type addition struct {
	line  []string // of the session, with the flags; nil if it is not known
	flags []string // not quoted; nil if line replaces every other command line
}

// in returns the new command line of a file. more are the flags that it did not have; they are nil
// if the file grants all of it now.
func (a addition) in(l ClientList) (line, more []string) {
	if l.Line == nil || a.flags == nil {
		return a.line, a.flags
	}
	flags := a.flags
	if isDefault(l.Line) && !isDefault(flags) && countAccess(a.line) > countAccess(flags) {
		// The session had its own rules, and the file has the default policy by now: the flags
		// would replace that, and take the workspace away.
		flags = append([]string{"--write", "."}, flags...)
	}
	return l.addMissing(flags)
}

func (a addition) write(b *strings.Builder, lists []ClientList) {
	if len(lists) == 0 {
		lists = []ClientList{{Format: "json", Key: "args", Where: []string{"a client's file of JSON"}}}
	}
	typed := "" // the line for a shell, which is shown once
	for i, l := range lists {
		if i == maxLists {
			b.WriteString("  and " + strconv.Itoa(len(lists)-i) + " more entries of clients, which differ\n")
			break
		}
		line, more := a.in(l)
		switch {
		case line == nil: // neither the session's line nor that of the file is known
			continue
		case l.Line == nil && slices.ContainsFunc(line, show.Expands): // the words as they are after the client
			b.WriteString("  for " + show.Line(InWords(l.Where)) + " no list is proposed: a client could replace a part of it, such as ${NAME}\n")
			continue
		case more == nil && a.flags != nil:
			b.WriteString(l.granted())
			continue
		}
		if text, ok := typedLine(line); ok && typed == "" && !l.Secret {
			b.WriteString("  the new command line, for a shell:\n\n" + text + "\n")
			typed = text
		}
		if i > 0 || typed != "" {
			b.WriteString("\n")
		}
		if b.WriteString(l.heading()); l.Secret {
			b.WriteString(l.items(more) + ",\n")
		} else {
			b.WriteString(l.text(line) + "\n")
		}
	}
}

// maxLists bounds the files of which a list is shown.
const maxLists = 5

func (l ClientList) granted() string {
	text := "  granted by now for " + show.Line(InWords(l.Where)) + ": the next session has it"
	if l.Reload != "" {
		text += ". " + show.Line(strings.TrimSuffix(l.Reload, "."))
	}
	return text + "\n"
}

func typedLine(line []string) (text string, ok bool) {
	words := make([]string, len(line))
	for i, w := range line {
		if words[i], ok = show.Path(w); !ok {
			return "", false
		}
	}
	return strings.Join(words, " "), len(line) > 0
}

func (d Diagnosis) addition() addition {
	if len(d.Declare) > 0 {
		return addition{line: d.Line}
	}
	return addition{line: d.Line, flags: show.Unquoted(d.Flags)}
}
