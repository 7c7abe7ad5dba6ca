package edit

import (
	"bytes"
	"strings"
)

// A list of arguments that this package inserts begins with a bracket and one blank. Words
// in a list that was there and empty begin directly after its bracket. So the two can be
// told apart when the words are removed again.
const inserted = "[ "

// insertArgs plans a list of arguments where there is none, right after the program.
func (p *splicer) insertArgs(texts []string) *RefusedError {
	src, m := p.src(), p.server.command
	if m.nameEnd < 0 || m.value.start < m.nameEnd {
		return p.refuse(m.value, "the key of the program has a form that mcp-jail does not copy", "write it as a plain word")
	}
	name := p.server.table.Args
	if c := src[m.nameStart]; c == '"' || p.file.format == JSON {
		name = p.file.quote(name)
	}
	assign := string(src[m.nameEnd:m.value.start])
	// A comment or a line end between key and value is not copied.
	if strings.Trim(assign, " \t:=") != "" {
		assign = map[Format]string{JSON: ": ", YAML: ": ", TOML: " = "}[p.file.format]
	}
	text := string(src[m.keyStart:m.nameStart]) + name + assign + inserted + strings.Join(texts, ", ") + "]"
	if !m.lines {
		p.add(m.value.end, m.value.end, ","+p.memberSpace(m, assign)+text)
		return nil
	}
	prefix := linePrefix(src, m.keyStart)
	if strings.Trim(prefix, " \t-") != "" {
		return p.refuse(m.value, "the key of the program is not at the beginning of its line", "write it on its own line")
	}
	// A dash before the program is that of the whole entry: the new key is indented instead.
	at := endOfLine(src, m.value.end)
	p.add(at, at, p.newline(at, m.keyStart-len(prefix))+strings.ReplaceAll(prefix, "-", " ")+text)
	return nil
}

func (p *splicer) memberSpace(m *member, assign string) string {
	before := bytes.TrimRight(p.src()[:m.keyStart], " \t\r\n")
	space := string(p.src()[len(before):m.keyStart])
	if i := strings.LastIndexByte(space, '\n'); i >= 0 {
		return lineEnd(p.src(), len(before)+i+1) + space[i+1:]
	}
	if assign == ":" || assign == "=" {
		return ""
	}
	return " "
}

func endOfLine(src []byte, offset int) int {
	end := bytes.IndexByte(src[offset:], '\n')
	if end < 0 {
		return len(src)
	}
	end += offset
	if end > offset && src[end-1] == '\r' {
		end--
	}
	return end
}

// newline returns the line end at an offset or, at the end of the file, the one before the line
// that begins at lineStart.
func (p *splicer) newline(end, lineStart int) string {
	if bytes.HasPrefix(p.src()[end:], []byte("\r\n")) || end == len(p.src()) && lineEnd(p.src(), lineStart) == "\r\n" {
		return "\r\n"
	}
	return "\n"
}

// isInserted reports whether the list of arguments has the form that insertArgs gives it,
// at the place where insertArgs puts it.
func (p *splicer) isInserted() bool {
	src, m, list := p.src(), p.server.command, p.server.args.value
	if !list.flow || len(list.items) == 0 || list.start < 0 || m.value.end < 0 ||
		list.items[0].start != list.start+len(inserted) || !bytes.HasPrefix(src[list.start:], []byte(inserted)) {
		return false
	}
	// Only a comma, or one line end, may be between the two members.
	from, to := p.gap()
	if from > to {
		return false
	}
	between := string(src[from:to])
	if m.lines {
		return p.server.args.lines && strings.Count(between, "\n") == 1 && strings.Trim(between, " \t\r\n") == ""
	}
	return !p.server.args.lines && strings.Trim(between, " \t\r\n") == ","
}

func (p *splicer) gap() (from, to int) {
	m := p.server.command
	if m.lines {
		return endOfLine(p.src(), m.value.end), p.server.args.keyStart
	}
	return m.value.end, p.server.args.keyStart
}

func (p *splicer) removeArgs() *RefusedError {
	list := p.server.args.value
	last := list.items[len(list.items)-1]
	if last.end < 0 {
		return p.refuseSpelling(last)
	}
	end := p.skipExtra(last.end)
	if end < len(p.src()) && p.src()[end] == ',' {
		end = p.skipExtra(end + 1)
	}
	if end >= len(p.src()) || p.src()[end] != ']' {
		return p.refuse(list, "the end of the list was not found", "")
	}
	from, _ := p.gap()
	p.add(from, end+1, "")
	return nil
}
