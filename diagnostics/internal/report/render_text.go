package report

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Text returns the diagnosis for stderr: a few lines, each with the prefix "mcp-jail: "
// and a newline. Text of the server is quoted and marked.
func (d Diagnosis) Text() string {
	var b strings.Builder
	for _, line := range d.lines(d.What) {
		b.WriteString("mcp-jail: " + line + "\n")
	}
	if command := d.Command(); command != "" {
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
	if d.May != "" {
		put(fullStop(d.May))
	}
	for _, l := range d.Detail {
		put("  " + strings.TrimLeft(l, " "))
	}
	fix, command := cutCommand(d.Fix)
	put(sentence(fix))
	switch {
	case command != "":
		put("  " + command)
	case d.Explain != "" && d.Command() == "":
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
