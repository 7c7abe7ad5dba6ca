package diagnostics

import (
	"bytes"
	"encoding/json"
	"strings"
)

// DataFailure is the member of an error's data that describes the failure. It
// marks the error as one of mcp-jail: a server's own never has it from here.
const DataFailure = "dev.mcp-jail/failure"

// Members that are added to the data of a server's own error to a tool call: what
// mcp-jail knows of it, in the shape of a failure, and where the server's data is no
// object that could take this in, that data.
const (
	DataDiagnosis = "dev.mcp-jail/diagnosis"
	DataServer    = "dev.mcp-jail/data"
)

// failureData is the value of DataFailure, as docs/reference.md "Requests that get no
// answer" lays it down.
type failureData struct {
	Stage       Stage       `json:"stage"`
	Attribution Attribution `json:"attribution"`
	Server      string      `json:"server"`
	Tool        string      `json:"tool,omitempty"`
	Exit        *int        `json:"exit,omitempty"`
	Signal      string      `json:"signal,omitempty"`
	StderrTail  []string    `json:"stderr_tail"`
	Denials     []Denial    `json:"denials"`
	Grant       []string    `json:"grant"`
	Hint        string      `json:"hint"`
}

// Bounds of a frame. Clients log errors, and some show them whole.
const (
	frameStderr  = 20
	frameDenials = 20
	maxMessage   = 1 << 10
	maxName      = 256
	maxHint      = 4 << 10
)

// ErrorFrame is the diagnosis as one JSON-RPC 2.0 error, newline included, for
// the request whose raw id token is id. It is nil when id is no JSON string or
// number: an error without an id makes some clients drop the connection.
func (d Diagnosis) ErrorFrame(id []byte) []byte {
	id = bytes.TrimSpace(id)
	if len(id) == 0 || !json.Valid(id) || !(id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9') {
		return nil
	}
	code := d.Code
	if code == 0 {
		code = CodeDied
	}
	data := encode(map[string]failureData{DataFailure: d.failure()})
	// The id is the client's own token, byte for byte: 1.0 is not 1.
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	b.Write(bytes.ToValidUTF8(id, []byte("\ufffd")))
	b.WriteString(`,"error":{"code":`)
	b.Write(encode(code))
	b.WriteString(`,"message":`)
	b.Write(encode(d.Message()))
	b.WriteString(`,"data":`)
	b.Write(data)
	b.WriteString("}}\n")
	return b.Bytes()
}

// failure is the diagnosis as data of an error.
func (d Diagnosis) failure() failureData {
	return failureData{
		Stage: d.Stage, Attribution: d.Attribution, Server: cut(d.Server, maxName), Tool: cut(d.Tool, maxName),
		Exit: d.Exit, Signal: d.Signal,
		StderrTail: notNull(lastN(d.Stderr, frameStderr)),
		Denials:    notNull(lastN(d.Denials, frameDenials)),
		Grant:      notNull(d.Grant),
		Hint:       d.hintText(),
	}
}

// ErrorData is the JSON value for DataDiagnosis, nil where there is nothing to say.
func (d Diagnosis) ErrorData() []byte {
	if d.Cause == "" && len(d.Denials) == 0 {
		return nil
	}
	return encode(d.failure())
}

// Message is the diagnosis in one line: the event, its cause, the remedy.
func (d Diagnosis) Message() string {
	var b strings.Builder
	b.WriteString("mcp-jail: " + d.What)
	if d.Cause != "" {
		b.WriteString(": " + d.causePrefix() + d.Cause)
	} else if line := d.lastError(); line != "" {
		b.WriteString("; server said: " + quote(cut(line, 300)))
	}
	if d.Fix != "" {
		if s := b.String(); !strings.HasSuffix(s, "?") && !strings.HasSuffix(s, ".") {
			b.WriteByte('.')
		}
		b.WriteString(" Fix: " + d.Fix)
	}
	return cut(b.String(), maxMessage)
}

// causePrefix keeps a conclusion apart from a fact.
func (d Diagnosis) causePrefix() string {
	switch d.Attribution {
	case Likely:
		return "likely cause: "
	case Possible:
		return "possible cause: "
	}
	return ""
}

// hintText is the whole advice in one string: the fixes of every hint, the more
// of an error, and what the lines to paste are.
func (d Diagnosis) hintText() string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if d.Cause != "" {
		add(d.causePrefix() + d.Cause)
	}
	add(d.Fix)
	for i, h := range d.Hints {
		if i > 0 {
			add("also " + h.Cause)
			add(h.Fix)
		}
	}
	if len(d.Hints) > 1 && len(d.Flags) > 0 {
		add("all together: " + strings.Join(d.Flags, " "))
	}
	parts = append(parts, d.Detail...)
	return cut(strings.Join(parts, "\n"), maxHint)
}

// lastError is the line of the server that tells most about a failure of which
// nothing else is known: the last that speaks of an error, else the last.
func (d Diagnosis) lastError() string {
	lines := d.Said
	if len(lines) == 0 {
		lines = d.Stderr
	}
	word := ""
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if line == "" || isStackFrame(line) || len(line) < 3 {
			continue
		}
		if lower := strings.ToLower(line); strings.Contains(lower, "error") || strings.Contains(lower, "fatal") || strings.Contains(lower, "panic") {
			return line
		}
		if word == "" {
			word = line
		}
	}
	return word
}

// encode writes JSON on one line, in valid UTF-8. What is encoded here are plain
// structs, which cannot fail to be.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func lastN[T any](s []T, n int) []T { return s[max(0, len(s)-n):] }

// notNull is s, and [] rather than null where there is nothing.
func notNull[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
