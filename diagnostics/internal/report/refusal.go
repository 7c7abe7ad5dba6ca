package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Refusal is a diagnosis at the time when it was made. A session writes it down at once, for
// `mcp-jail why --follow`. An entry stands for all that are alike since the entry before.
type Refusal struct {
	Time    time.Time `json:"time"`              // of the last one
	Count   int       `json:"count"`             // how many are alike
	Omitted int       `json:"omitted,omitempty"` // how many others before it could not be kept
	Project string    `json:"project,omitempty"` // as in a record
	File    string    `json:"file,omitempty"`    // as in a record
	// Tried is the policy that would have refused it, if it was not the one in force (run --try): nothing
	// was refused.
	Tried string `json:"tried,omitempty"`
	Diagnosis
}

// maxRefusal bounds the encoding of a Refusal. It fits into what one write(2) appends whole.
const maxRefusal = 64 << 10

// Encode returns the refusal as JSON on one line, without a line end. A refusal that is too long loses
// what the server said, and then all but its sentences.
func (r Refusal) Encode() ([]byte, error) {
	var line []byte
	for _, shorten := range []func(){
		func() {},
		func() { r.Said, r.Stderr, r.Line, r.Declare = nil, nil, nil, nil },
		func() { r.Denials, r.Hints, r.Grant, r.Flags, r.Words, r.Detail = nil, nil, nil, nil, nil, nil },
	} {
		shorten()
		data, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("encode a refusal of %q: %w", r.Server, err)
		}
		if line = show.JSON(data); len(line) <= maxRefusal {
			return line, nil
		}
	}
	return nil, fmt.Errorf("a refusal of %q is too long", show.Cut(r.Server, maxName))
}

// DecodeRefusal decodes the output of Encode.
func DecodeRefusal(line []byte) (r Refusal, err error) {
	err = json.Unmarshal(line, &r)
	return r, err
}

// Key returns a text that two refusals share if they are alike: the same thing was refused on the same
// occasion. Counts of denials, which are part of the sentences, do not enter it.
func (d Diagnosis) Key() string {
	parts := []string{d.Server, d.Tool, d.What, string(d.Attribution)}
	for _, h := range d.Hints {
		parts = append(parts, string(h.Axis), h.Target, h.Missing)
	}
	if len(d.Hints) == 0 {
		parts = append(parts, d.Cause)
	}
	if d.Cause == "" {
		for _, r := range d.Denials {
			parts = append(parts, string(r.Axis), r.Operation, r.Target, strings.Join(r.Arguments, "\x01"))
		}
	}
	return strings.Join(parts, "\x00")
}

// Text returns the refusal in the words of Record.Text, without a heading. A refusal without a cause
// did no harm, and is told as in the list of a record.
func (r Refusal) Text(lists ...ClientList) string {
	var b strings.Builder
	if r.Cause == "" && len(r.Denials) > 0 {
		b.WriteString("\n" + show.Line(r.What) + "\n")
		for _, d := range r.Denials {
			b.WriteString("  " + show.Line(denialText(d)) + "\n")
		}
		return b.String()
	}
	r.writeText(&b, r.File, lists)
	return b.String()
}

// Again returns one line for repetitions of a refusal that was told.
func (r Refusal) Again() string {
	times := "once more"
	if r.Count > 1 {
		times = fmt.Sprintf("%d more times", r.Count)
	}
	what := show.Line(r.What)
	switch {
	case len(r.Hints) > 0:
		var targets []string
		for _, h := range r.Hints {
			targets = append(targets, show.Quote(h.Target))
		}
		what += ": " + strings.Join(targets, ", ")
	case r.Cause != "":
		what += ": " + show.Line(r.Cause)
	case len(r.Denials) > 0:
		d := r.Denials[0]
		d.Count = 0 // it is of the whole session
		what += ": " + show.Line(denialText(d))
	}
	return times + ": " + what
}

// Refused reports whether the diagnosis is about something that the policy refuses, and which a
// line of the policy or another remedy would change: the jail recorded it, or the server named it.
func (d Diagnosis) Refused() bool {
	return d.Cause != "" && (d.Attribution == Certain || d.Attribution == Likely) && len(d.Hints) > 0
}

// LogText returns the diagnosis for a log message to the client: the sentence, and then the lines of
// the policy.
func (d Diagnosis) LogText() string {
	return show.Cut(d.Sentence()+d.linesText(), maxHint)
}

func (d Diagnosis) linesText() string {
	switch {
	case len(d.Grant) > 0:
		return "\nLines to add" + intoFile(cmp.Or(d.File, theConfiguration)) + ":\n" + strings.Join(d.Grant, "\n")
	case len(d.Flags) > 0:
		return "\nFlags for mcp-jail run: " + strings.Join(d.Flags, " ")
	}
	return ""
}

// SilentRefusal is What of a refusal that no call failed from.
func SilentRefusal(server string) string { return SomethingRefused("", OfServer(server)) }
