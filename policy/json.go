package policy

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// jsonText writes what encoding/json would, byte for byte, without asking types for
// their members: a new process spends more on that than on the text.
type jsonText struct {
	b    []byte
	html bool // <, > and & are escaped, as json.Marshal does
}

// item puts a comma in front of all but the first of a list.
func (j *jsonText) item() {
	if n := len(j.b); n > 0 {
		switch j.b[n-1] {
		case '{', '[', ':':
		default:
			j.b = append(j.b, ',')
		}
	}
}

func (j *jsonText) begin(bracket byte) {
	j.item()
	j.b = append(j.b, bracket)
}

func (j *jsonText) end(bracket byte) { j.b = append(j.b, bracket) }

// member writes a name, which needs no escapes. Its value is what comes next.
func (j *jsonText) member(name string) *jsonText {
	j.item()
	j.b = append(append(append(j.b, '"'), name...), '"', ':')
	return j
}

func (j *jsonText) integer(n int64) {
	j.item()
	j.b = strconv.AppendInt(j.b, n, 10)
}

func (j *jsonText) boolean(v bool) {
	j.item()
	j.b = strconv.AppendBool(j.b, v)
}

func (j *jsonText) text(s string) {
	start := len(j.b)
	j.item()
	j.b = append(j.b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			j.b = append(j.b, '\\', c)
		case c < ' ' || c > '~' || j.html && (c == '<' || c == '>' || c == '&'):
			j.b = j.b[:start]
			j.any(s)
			return
		default:
			j.b = append(j.b, c)
		}
	}
	j.b = append(j.b, '"')
}

// any leaves the value to encoding/json: of texts those that are rare.
func (j *jsonText) any(v any) {
	j.item()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(j.html)
	if err := e.Encode(v); err != nil {
		panic(err) // plain data
	}
	j.b = append(j.b, bytes.TrimRight(b.Bytes(), "\n")...)
}

// option is a member that is left out where it is empty.
func (j *jsonText) option(name, value string) {
	if value != "" {
		j.member(name).text(value)
	}
}

func (j *jsonText) optionInt(name string, value int) {
	if value != 0 {
		j.member(name).integer(int64(value))
	}
}

func (j *jsonText) flag(name string, set bool) {
	if set {
		j.member(name).boolean(true)
	}
}

// texts is null for nil.
func texts[S ~string](j *jsonText, list []S) {
	if list == nil {
		j.item()
		j.b = append(j.b, "null"...)
		return
	}
	j.begin('[')
	for _, s := range list {
		j.text(string(s))
	}
	j.end(']')
}

func (j *jsonText) options(name string, list []string) {
	if len(list) > 0 {
		texts(j.member(name), list)
	}
}

func (j *jsonText) integers(list []int) {
	j.begin('[')
	for _, n := range list {
		j.integer(int64(n))
	}
	j.end(']')
}
