package diagnostics

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// DataFailure is the member of an error's data that describes the failure. It marks the
// error as one of mcp-jail. The proxy removes it from errors of a server.
const DataFailure = "dev.mcp-jail/failure"

// DataDiagnosis and DataServer are added to the data of a server's own error to a tool
// call. DataDiagnosis holds what mcp-jail knows, in the shape of DataFailure. DataServer
// holds the server's own data if that is not an object.
const (
	DataDiagnosis = "dev.mcp-jail/diagnosis"
	DataServer    = "dev.mcp-jail/data"
)

// failureData is the value of DataFailure: see docs/reference.md, "Requests that get no
// answer".
type failureData struct {
	Stage       Stage           `json:"stage"`
	Attribution Attribution     `json:"attribution"`
	Server      string          `json:"server"`
	Tool        string          `json:"tool,omitempty"`
	Exit        *int            `json:"exit,omitempty"`
	Signal      string          `json:"signal,omitempty"`
	StderrTail  []string        `json:"stderr_tail"`
	Denials     []policy.Denial `json:"denials"`
	Grant       string          `json:"grant,omitempty"` // the command that allows it
	Hint        string          `json:"hint"`
	Explain     Page            `json:"explain,omitempty"`
}

// Bounds of a frame. Clients log errors, and some show them completely.
const (
	frameStderr  = 20
	frameDenials = 20
	maxMessage   = 1 << 10
	maxName      = 256
	maxHint      = 4 << 10
)

// ErrorFrame returns the diagnosis as a JSON-RPC 2.0 error, with a newline, for the
// request with the raw id token id. It returns nil when id is not a JSON string or number:
// an error without an id makes some clients close the connection.
func (d Diagnosis) ErrorFrame(id []byte) []byte {
	id = bytes.TrimSpace(id)
	if len(id) == 0 || !json.Valid(id) || !(id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9') {
		return nil
	}
	code := d.Code
	if code == 0 {
		code = CodeDied
	}
	return mcpproxy.NewError(bytes.ToValidUTF8(id, []byte("\ufffd")), int(code), d.Message(), encode(map[string]failureData{DataFailure: d.failure()}))
}

func (d Diagnosis) failure() failureData {
	return failureData{
		Stage: d.Stage, Attribution: d.Attribution, Server: show.Cut(d.Server, maxName), Tool: show.Cut(d.Tool, maxName),
		Exit: d.Exit, Signal: d.Signal,
		StderrTail: notNull(lastN(d.Stderr, frameStderr)),
		Denials:    notNull(lastN(d.Denials, frameDenials)),
		Grant:      d.command(),
		Hint:       d.hintText(),
		Explain:    d.Explain,
	}
}

// ErrorData returns the JSON value for DataDiagnosis, or nil if there is nothing to
// say.
func (d Diagnosis) ErrorData() []byte {
	if d.Cause == "" && len(d.Denials) == 0 {
		return nil
	}
	return encode(d.failure())
}

const messagePrefix = "mcp-jail: "

// Message returns the diagnosis in one line for a client, which begins with mcp-jail's name.
func (d Diagnosis) Message() string { return messagePrefix + d.Sentence() }

// Sentence returns the diagnosis in one line: what happened, its cause, what to do.
func (d Diagnosis) Sentence() string {
	advice := show.Line(d.advice(" "))
	return show.Cut(d.headline(), max(0, maxMessage-len(messagePrefix)-len(advice))) + show.Cut(advice, maxMessage-len(messagePrefix))
}

// headline says what happened and why.
func (d Diagnosis) headline() string {
	switch line := d.LastError(); {
	case d.Attribution == Possible && line != "":
		return d.What + ": " + fullStop(d.clause()) + " The server said: " + fullStop(show.Quote(show.Cut(line, 200)))
	case d.Cause != "":
		return d.What + ": " + fullStop(d.clause())
	case line != "":
		return d.What + ". The server said: " + show.Quote(show.Cut(line, 300))
	case d.Advised() != "":
		return fullStop(d.What)
	}
	return d.What
}

func (d Diagnosis) hintText() string {
	var parts []string
	if d.Cause != "" {
		parts = append(parts, d.causeText())
	}
	if fix := d.Advised(); fix != "" {
		parts = append(parts, sentence(fix))
	}
	for i, h := range d.Hints {
		if i > 0 || d.Cause == "" {
			parts = append(parts, "also "+h.Cause)
		}
	}
	return show.Cut(strings.Join(append(parts, d.Detail...), "\n"), maxHint)
}

// LastError returns the line of the server that tells most about a failure without another
// known cause.
func (d Diagnosis) LastError() string {
	if len(d.Said) > 0 {
		return words.ErrorText(d.Said)
	}
	return words.ErrorText(d.Stderr)
}

// encode writes JSON on one line in valid UTF-8. It is used for plain structs, whose
// encoding cannot fail.
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

// notNull returns s, or an empty slice for nil, which JSON writes as [] and not null.
func notNull[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// Text returns the diagnosis for stderr: a few lines, each with the prefix "mcp-jail: "
// and a newline. Text of the server is quoted and marked.
func (d Diagnosis) Text() string {
	var b strings.Builder
	for _, line := range d.lines(d.What) {
		b.WriteString("mcp-jail: " + line + "\n")
	}
	if command := d.command(); command != "" {
		b.WriteString("mcp-jail:   to allow it: " + command + "\n")
	}
	return b.String()
}

// lines returns what happened and its cause, and below what to do but for the command that allows it, and the
// server's word for it.
func (d Diagnosis) lines(what string) []string {
	own := d.Attribution == Certain && len(d.Hints) == 0 // an error of mcp-jail's
	lines := []string{what}
	put := func(s string) {
		if s != "" {
			lines = append(lines, "  "+s)
		}
	}
	switch {
	case d.Cause == "":
	case own:
		put(d.Cause)
	case d.Attribution == Certain || d.Whole:
		lines[0] += ": " + fullStop(d.clause())
	default:
		lines[0] += ". " + sentence(d.causeText())
	}
	if d.May != "" && d.Hints[0].Axis == policy.AxisFs { // of a host or a socket the cause says it
		put(fullStop(d.May))
	}
	for _, l := range d.Detail {
		put("  " + strings.TrimLeft(l, " "))
	}
	fix, command := cutCommand(d.Advised())
	put(sentence(fix))
	switch {
	case command != "":
		put("  " + command)
	case d.Explain != "" && d.command() == "":
		put("More: " + d.Explain.command())
	}
	if said := d.LastError(); said != "" {
		put("The server said: " + show.Quote(said))
	}
	return lines
}

// MetaDenials is the member of a result's _meta whose value ResultMeta returns.
const MetaDenials = "dev.mcp-jail/denials"

// ResultMeta returns the JSON value of _meta["dev.mcp-jail/denials"] of a tool result: the
// recorded denials in the shape of an error's `denials`, on one line. It returns nil if
// the jail recorded none. Conclusions from text are not denials. They are in the
// ResultBlock, since some clients print _meta.
func (d Diagnosis) ResultMeta() []byte {
	if len(d.Denials) == 0 {
		return nil
	}
	return encode(lastN(d.Denials, frameDenials))
}

// ResultBlock returns the JSON of the text content block that is added to an error result,
// on one line. Its text begins with "\n[mcp-jail]", because some clients join blocks
// without a line break. Models and people read it. A [Diagnosis.Silent] diagnosis needs no
// block.
func (d Diagnosis) ResultBlock() []byte {
	return encode(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", d.resultText()})
}

func (d Diagnosis) resultText() string {
	return show.Cut("\n"+mark+d.causeText()+d.advice("\n"), maxHint)
}

// ErrorNote returns the line that is added to the message of a server's own error, or "" if there is
// nothing to say. It has the words of the ResultBlock, for clients that show the message alone.
func (d Diagnosis) ErrorNote() string {
	if d.Cause == "" {
		return ""
	}
	advice := show.Line(d.advice(" "))
	return mark + show.Cut(show.Line(d.causeText()), max(0, maxMessage-len(mark)-len(advice))) + show.Cut(advice, maxMessage-len(mark))
}

// mark begins what mcp-jail adds to a text of the server.
const mark = "[mcp-jail] "
