package edit

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// A Change replaces the first Drop words of a server's command line with Words. At least one word must
// be left.
type Change struct {
	Server Server // from [File.Servers] of the same file
	Drop   int
	Words  []string
}

// A splice replaces the bytes from start to end.
type splice struct {
	start, end int
	text       string
}

// Apply returns the file with all changes made. If one of them cannot be made safely, none
// is, and the error is a [*Fault] for the first such server. The file f itself does
// not change.
func (f *File) Apply(changes ...Change) ([]byte, error) {
	all, err := f.splices(changes)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return f.src, nil
	}
	result := spliced(f.src, all)
	if err = f.check(result, changes); err == nil {
		return result, nil
	}
	// Which of them is it?
	for half := range slices.Chunk(changes, max(1, len(changes)/2)) {
		if len(changes) > 1 {
			if _, err := f.Apply(half...); err != nil {
				return nil, err
			}
		}
	}
	return nil, err
}

// Diff returns the unified diff of changes that Apply has made. The lines may hold secrets of the file,
// and are not safe for a terminal.
func (f *File) Diff(name string, changes ...Change) string {
	all, err := f.splices(changes)
	if err != nil {
		return ""
	}
	return show.Diff{}.Unified(name, f.src, spliced(f.src, all))
}

// splices returns the splices of some changes, in order.
func (f *File) splices(changes []Change) (all []splice, err error) {
	for i := range changes {
		made, fault := f.splicesOf(&changes[i])
		if fault != nil {
			return nil, changes[i].refuse(fault)
		}
		all = append(all, made...)
	}
	slices.SortFunc(all, func(a, b splice) int { return cmp.Or(a.start-b.start, a.end-b.end) })
	for i := 1; i < len(all); i++ {
		if all[i].start < all[i-1].end || all[i] == all[i-1] {
			return nil, changes[0].refuse(&Fault{Reason: "two changes name it"})
		}
	}
	return all, nil
}

func spliced(src []byte, all []splice) []byte {
	out, at := make([]byte, 0, len(src)+1000*len(all)), 0
	for _, s := range all {
		out = append(append(out, src[at:s.start]...), s.text...)
		at = s.end
	}
	return append(out, src[at:]...)
}

func (c *Change) refuse(why *Fault) *Fault {
	name := cmp.Or(c.Server.Name, strings.Join(c.Server.Path, "."), "?")
	return &Fault{Server: name, Path: c.Server.Path, Line: why.Line, Reason: why.Reason, Fix: why.Fix}
}

// splicesOf decides how many words of the list go, and what comes before the others.
func (f *File) splicesOf(c *Change) ([]splice, *Fault) {
	s, texts := &c.Server, []string(nil)
	switch {
	case s.file != f:
		return nil, &Fault{Reason: "it is not a server of this file", Fix: "read the servers of the file again"}
	case s.Refused != nil:
		return nil, s.Refused
	case s.Ambiguous != nil && len(c.Words) > 0:
		return nil, s.Ambiguous
	case c.Drop < 0 || c.Drop > len(s.Words) || c.Drop == len(s.Words) && len(c.Words) == 0:
		return nil, &Fault{Line: s.Line, Reason: fmt.Sprintf("%d words in front of its command line cannot be removed, because it has %d", c.Drop, len(s.Words))}
	case len(c.Words) > 0 && c.Words[0] == "":
		return nil, &Fault{Line: s.Line, Reason: "the new program has no name"}
	case c.Drop == 0 && len(c.Words) == 0:
		return nil, nil
	}
	for _, word := range c.Words {
		if !utf8.ValidString(word) || strings.ContainsRune(word, 0) {
			return nil, &Fault{Line: s.Line, Reason: "the new word " + strconv.Quote(word) + " is not text"}
		}
		texts = append(texts, f.quote(word))
	}
	program, drop := &s.command.value, c.Drop
	if s.List {
		return f.head(program, drop, texts)
	}
	// Without new words, the first word that stays becomes the program. With them, an old program
	// that stays becomes an argument.
	moved := program
	if len(texts) == 0 {
		moved = &s.args.value.items[drop-1]
	}
	switch raw, fault := f.spelling(moved, program); {
	case fault != nil:
		return nil, fault
	case moved != program || drop == 0:
		texts = append(texts, raw)
	default:
		drop--
	}
	list, fault := f.arguments(s, drop, texts[1:])
	return append(list, splice{program.start, program.end, texts[0]}), fault
}

// arguments replaces the first drop words of the arguments by texts.
func (f *File) arguments(s *Server, drop int, texts []string) ([]splice, *Fault) {
	switch {
	case s.args == nil && len(texts) == 0:
		return nil, nil
	case s.args == nil:
		return f.insert(s, texts)
	case len(texts) == 0 && drop == len(s.args.value.items):
		if list := f.inserted(s); list != nil {
			return list, nil
		}
	}
	return f.head(&s.args.value, drop, texts)
}

// spelling returns the spelling of the first of some words, which are to be moved or replaced.
func (f *File) spelling(words ...*node) (string, *Fault) {
	for _, n := range words {
		if n.kind != isText {
			return "", n.fault("the program would be "+n.kind.String()+", and has to be a string", "")
		}
		if n.end < 0 {
			return "", n.fault("the program is a block scalar, has a tag or an anchor, or goes on in another line", "write it in one line, between double quotes")
		}
	}
	return string(f.src[words[0].start:words[0].end]), nil
}

// head replaces the first drop words of a list by texts.
func (f *File) head(list *node, drop int, texts []string) ([]splice, *Fault) {
	src, begin := f.src, list.start
	if begin < 0 || list.flow && src[begin] != '[' {
		return nil, list.fault("the list does not begin with a bracket", "write it without tag and anchor")
	}
	if drop == 0 && len(texts) == 0 {
		return nil, nil
	}
	if len(list.items) == 0 {
		return []splice{{begin + 1, begin + 1, strings.Join(texts, ", ")}}, nil
	}
	dash, between, last := "", ", ", ", "
	if list.flow {
		begin = list.items[0].start
	}
	line, indent := f.line(begin)
	if blank := strings.Trim(indent, " \t") == ""; blank && indent != "" {
		last = "," + line
	}
	if !list.flow {
		if strings.Trim(indent, " ") != "" || src[begin] != '-' {
			return nil, list.fault("the first dash of the list is not on a line by itself", "write the list between brackets, or each word on its own line after a dash")
		}
		dash, between, last = "- ", line, line
	}
	text := ""
	if len(texts) > 0 {
		text = dash + strings.Join(texts, between+dash)
	}
	if drop == len(list.items) {
		return f.all(list, begin, text)
	}
	to := begin
	if next := &list.items[drop]; list.flow {
		to = next.start
	} else if drop > 0 {
		to = len(bytes.TrimRight(src[:max(next.start, 0)], " \t")) - 1
		if _, other := f.line(max(to, 0)); to < begin || src[to] != '-' || other != indent {
			return nil, next.fault("the word is not directly after its dash", "write it there")
		}
	}
	if text != "" {
		text += last
	}
	return []splice{{begin, to, text}}, nil
}

// all replaces all words of a list, which begin at an offset, by a text.
func (f *File) all(list *node, begin int, text string) ([]splice, *Fault) {
	item := &list.items[len(list.items)-1]
	switch comma := f.skip(max(item.end, 0)); {
	case item.end < 0:
		return nil, item.fault("the word goes on in another line, or has a tag or an anchor", "write it in one line, between double quotes")
	case text == "" && !list.flow: // it cannot be empty: it becomes [] after the colon of its key
		if begin = len(bytes.TrimRight(f.src[:begin], " \t\r\n")); begin == 0 || f.src[begin-1] != ':' {
			return nil, list.fault("a comment is before the first word, and the list would be empty", "remove the comment")
		}
		text = " []"
	case text == "" && comma < len(f.src) && f.src[comma] == ',':
		return []splice{{begin, item.end, ""}, {comma, comma + 1, ""}}, nil
	}
	return []splice{{begin, item.end, text}}, nil
}

// skip returns the offset of the next byte that is neither blank nor in a comment.
func (f *File) skip(at int) int {
	if f.format == JSON {
		p := jsonParser{f: f, at: at}
		p.next()
		return p.at
	}
	for {
		rest := bytes.TrimLeft(f.src[at:], " \t\r\n")
		if at = len(f.src) - len(rest); !bytes.HasPrefix(rest, []byte("#")) {
			return at
		}
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		at += len(line)
	}
}

// insert adds a list of arguments where there is none, right after the program. It begins with a bracket and
// one blank. Words in a list that was there and empty begin directly after its bracket. So the two can be
// told apart when the words are removed again.
func (f *File) insert(s *Server, texts []string) ([]splice, *Fault) {
	m, name, at := s.command, s.table.Args, s.command.value.end
	line, indent := f.line(m.start)
	if m.key.end < 0 || m.value.start < m.key.end || m.lines && strings.Trim(indent, " \t-") != "" {
		return nil, m.fault("the key of the program is not at the beginning of its line", "write it on its own line, as a plain word")
	}
	if f.src[m.key.start] == '"' {
		name = f.quote(name)
	}
	assign := string(f.src[m.key.end:m.value.start])
	// A comment or a line end between key and value is not copied.
	if strings.Trim(assign, " \t:=") != "" {
		assign = map[Format]string{JSON: ": ", YAML: ": ", TOML: " = "}[f.format]
	}
	text := string(f.src[m.start:m.key.start]) + name + assign + "[ " + strings.Join(texts, ", ") + "]"
	switch {
	case m.lines: // a dash before the program is that of the whole entry: the new key is indented instead
		text = strings.ReplaceAll(line, "-", " ") + text
		if end := bytes.IndexByte(f.src[at:], '\n'); end < 0 {
			at = len(f.src)
		} else {
			at = len(bytes.TrimSuffix(f.src[:at+end], []byte("\r")))
		}
	case strings.Trim(indent, " \t") == "":
		text = "," + line + text
	case assign == ":" || assign == "=":
		text = "," + text
	default:
		text = ", " + text
	}
	return []splice{{at, at, text}}, nil
}

// inserted returns the splice that removes the list of arguments if insert has made it, or nil.
func (f *File) inserted(s *Server) []splice {
	var texts []string
	for i := range s.args.value.items {
		item := &s.args.value.items[i]
		if item.start < 0 || item.end < 0 {
			return nil
		}
		texts = append(texts, string(f.src[item.start:item.end]))
	}
	made, fault := f.insert(s, texts)
	if fault != nil || !bytes.HasPrefix(f.src[made[0].start:], []byte(made[0].text)) {
		return nil
	}
	return []splice{{made[0].start, made[0].start + len(made[0].text), ""}}
}

// line returns the blanks and dashes before an offset in its line, or "?" if other text is there, and a line
// end, as the file has it, followed by them.
func (f *File) line(offset int) (next, indent string) {
	begin := len(bytes.TrimRight(f.src[:offset], " \t-"))
	if begin > 0 && f.src[begin-1] != '\n' && begin != f.skipped() {
		return "", "?"
	}
	end := begin - 1
	if begin <= f.skipped() {
		end = bytes.IndexByte(f.src, '\n')
	}
	if indent = string(f.src[begin:offset]); end > 0 && f.src[end-1] == '\r' {
		return "\r\n" + indent, indent
	}
	return "\n" + indent, indent
}

func (f *File) quote(word string) string {
	if f.format == JSON {
		return show.Item(word)
	}
	return show.TOML(word) // which YAML reads alike
}
