package callcmd

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// outcome is what became of a call. Its exported fields are the JSON document.
type outcome struct {
	Server    string                  `json:"server"`
	Name      string                  `json:"name,omitempty"`  // under which mcp-jail keeps it
	About     string                  `json:"about,omitempty"` // what the server calls itself
	Tool      string                  `json:"tool,omitempty"`
	Tools     []json.RawMessage       `json:"tools,omitzero"` // without a tool to call
	Result    json.RawMessage         `json:"result,omitempty"`
	Error     *ServerError            `json:"error,omitempty"`   // the error with which the server answered
	Failure   string                  `json:"failure,omitempty"` // why there is no answer
	Refused   []policy.Denial         `json:"refused"`
	Diagnoses []diagnostics.Diagnosis `json:"diagnoses"`
	Grant     string                  `json:"grant,omitempty"` // the command that grants what was refused
	Status    int                     `json:"status"`

	off    policy.Switches
	list   []Tool
	listed bool
	said   []string // lines of mcp-jail's own about the call, which come after the result
	shown  []string // and those that were shown before
}

// learn takes what the session has left.
func (r *outcome) learn(s *clientSession, t *target, failed error) {
	r.said, r.shown = s.lines()
	var answered *ServerError
	if errors.As(failed, &answered) {
		r.Error = answered
	} else if failed != nil {
		r.Failure = failed.Error()
	}
	r.takeRecord(s, t)
	if r.Error != nil || r.Failure != "" || r.isError() {
		r.Status = terminal.Failure
	}
	if r.Error != nil && ofSession(r.Error) {
		switch diagnostics.Code(r.Error.Code) {
		case diagnostics.CodeConfig:
			r.Status = terminal.Usage
		case diagnostics.CodeJail:
			r.Status = terminal.Host
		}
	}
}

// ofSession reports whether mcp-jail wrote an error. It removes its own names from what a server says.
func ofSession(e *ServerError) bool {
	var data map[string]json.RawMessage
	return json.Unmarshal(e.Data, &data) == nil && data[diagnostics.DataFailure] != nil
}

// takeRecord takes the refusals from the record of the session. Another session of the server may have
// replaced it; then the lines on stderr and the answer tell.
func (r *outcome) takeRecord(s *clientSession, t *target) {
	host, err := hostfs.LocalHost()
	if err != nil || t.Key == "" {
		return
	}
	if record, ok := records.Reader(host, t.Key)(); ok && !record.Time.Before(s.began.Round(0)) {
		can := t.decide(record)
		r.Refused, r.Diagnoses = record.Denials, record.Diagnoses
		if can && record.Lacks() {
			r.Grant = t.grant
		}
	}
}

// result is the result of tools/call.
type result struct {
	Content    []json.RawMessage `json:"content"`
	Structured json.RawMessage   `json:"structuredContent"`
	IsError    bool              `json:"isError"`
}

func (r *outcome) isError() bool {
	_, failed := ReadResult(r.Result)
	return failed
}

// ReadResult returns what the result of a tool has for people, and whether it says that the tool failed.
func ReadResult(raw json.RawMessage) (texts []string, failed bool) {
	var out result
	if json.Unmarshal(raw, &out) != nil {
		return nil, false
	}
	return out.texts(false), out.IsError
}

func (r *outcome) printJSON(c terminal.Console, err error) error {
	r.Refused, r.Diagnoses = cli.NonNil(r.Refused), cli.NonNil(r.Diagnoses)
	if err != nil {
		r.Failure, r.Status = err.Error(), terminal.Status(err)
	}
	cli.PrintJSON(c, r)
	if r.Status != terminal.OK {
		return terminal.ReportedStatus(r.Status)
	}
	return nil
}

// mark begins the block that a session adds to a failed result.
const mark = "[mcp-jail] "

// print writes the result, then what was refused.
func (r *outcome) print(c terminal.Console) error {
	var out result
	if r.Result != nil {
		if err := json.Unmarshal(r.Result, &out); err != nil {
			r.Failure, r.Status = "the result of the tool cannot be read: "+err.Error(), terminal.Failure
		}
	}
	texts := out.texts(len(r.said) > 0)
	if out.IsError {
		text := strings.TrimSpace(strings.Join(texts, "\n"))
		c.Errorf("%s", r.quoted(c, cmp.Or(text, "the tool failed without a word")))
	} else {
		for _, text := range texts {
			if c.OutIsTerminal() {
				text = c.Quoted(text)
			}
			c.WriteText(text)
		}
	}
	if text := r.errorText(c); text != "" {
		c.Errorf("%s", text)
	}
	r.printRefused(c)
	if r.Status != terminal.OK {
		return terminal.ReportedStatus(r.Status)
	}
	return nil
}

// quoted sets the words of a server apart from what mcp-jail says.
func (r *outcome) quoted(c terminal.Console, text string) string {
	return show.InSentence(cmp.Or(r.Tool, r.Server)) + ":\n" + c.Quoted(text)
}

// errorText returns why there is no result, without what is in the lines of mcp-jail's own.
func (r *outcome) errorText(c terminal.Console) string {
	if r.Error == nil {
		return r.Failure
	}
	text := r.Error.Message
	if !ofSession(r.Error) {
		text = r.quoted(c, strings.TrimSpace(text))
	}
	all := append(r.shown, r.said...)
	// What is in one sentence there is in several lines here.
	if own, is := strings.CutPrefix(text, ownPrefix); is {
		what, _, _ := strings.Cut(own, ":")
		if slices.ContainsFunc(all, func(line string) bool {
			return line != "" && strings.HasPrefix(own, line) || what != "" && strings.HasPrefix(line, what)
		}) {
			return ""
		}
	}
	if len(r.said) == 0 {
		return text
	}
	if at := strings.LastIndex(text, mark); at >= 0 {
		text = strings.TrimRight(text[:at], " ")
	}
	return text
}

func (r *outcome) printRefused(c terminal.Console) {
	for _, line := range r.said {
		switch {
		case r.Grant != "" && strings.HasPrefix(line, "  to allow it: "): // it comes at the end
		case r.isError() && strings.HasPrefix(line, "  The server said: "): // that was shown
		default:
			c.Notef("%s", line)
		}
	}
	if r.Grant == "" {
		return
	}
	c.Notef("To allow it, run this, and call the tool again:\n  %s", r.Grant)
}

// texts returns what a result has for people. told leaves out what the session has added, because it
// was said on stderr, too.
func (out result) texts(told bool) (texts []string) {
	content := out.Content
	if n := len(content); told && out.IsError && n > 0 && strings.HasPrefix(textOf(content[n-1]), "\n"+mark) {
		content = content[:n-1]
	}
	for _, raw := range content {
		texts = append(texts, block(raw))
	}
	// A server sends the same as text, for older clients, as the specification asks for.
	if s := bytes.TrimSpace(out.Structured); len(texts) == 0 && len(s) > 0 && !bytes.Equal(s, []byte("null")) {
		texts = append(texts, indented(s))
	}
	return texts
}

func indented(value []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return string(value)
	}
	return b.String()
}

// contentBlock has the members of all kinds of content.
type contentBlock struct {
	Type        string        `json:"type"`
	Text        string        `json:"text"`
	Data        string        `json:"data"`
	Blob        string        `json:"blob"`
	MimeType    string        `json:"mimeType"`
	URI         string        `json:"uri"`
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Resource    *contentBlock `json:"resource"`
}

func textOf(raw json.RawMessage) string {
	var b contentBlock
	if json.Unmarshal(raw, &b) != nil || b.Type != "text" {
		return ""
	}
	return b.Text
}

// block returns what a block of content has for people: its text, or what it is and how large.
func block(raw json.RawMessage) string {
	var b contentBlock
	if json.Unmarshal(raw, &b) != nil {
		return string(raw)
	}
	switch {
	case b.Type == "text":
		return b.Text
	case b.Type == "image" || b.Type == "audio":
		return fmt.Sprintf("(%s %s, %s: --format json has its data)", b.Type, show.Line(b.MimeType), sizeOf(b.Data))
	case b.Type == "resource" && b.Resource != nil && b.Resource.Blob != "":
		return fmt.Sprintf("(%s %s, %s: --format json has its data)", show.Line(b.Resource.URI), show.Line(b.Resource.MimeType), sizeOf(b.Resource.Blob))
	case b.Type == "resource" && b.Resource != nil:
		return b.Resource.Text
	case b.Type == "resource_link":
		return strings.TrimSpace(strings.Join(slices.DeleteFunc([]string{b.URI, b.Name, b.Description}, func(s string) bool { return s == "" }), "  "))
	}
	return indented(raw)
}

func sizeOf(data string) string {
	n := base64.StdEncoding.DecodedLen(len(data)) - strings.Count(data[max(0, len(data)-2):], "=")
	return cli.SizeText(int64(n))
}
