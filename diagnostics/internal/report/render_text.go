package report

import (
	"cmp"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// textStderr is the number of stderr lines in a text. It is small because the server's
// stderr is forwarded as well.
const textStderr = 8

// Text returns the diagnosis for stderr: several lines, each with the prefix "mcp-jail: "
// and a newline. Text of the server is quoted and marked.
func (d Diagnosis) Text() string {
	var b strings.Builder
	line := func(parts ...string) {
		b.WriteString("mcp-jail: " + strings.Join(parts, "") + "\n")
	}
	line(d.What)
	switch {
	case d.Cause == "":
	case d.causePrefix() == "":
		line("  cause: ", d.Cause)
	default:
		line("  ", d.causePrefix(), d.Cause)
	}
	for _, l := range d.Detail {
		line("    ", strings.TrimLeft(l, " "))
	}
	if d.Fix != "" {
		line("  fix: ", d.Fix)
	}
	for i, h := range d.Hints {
		if i == 0 && d.Cause != "" {
			continue
		}
		line("  also (", string(h.Attribution), "): ", h.Cause)
		if h.Fix != "" {
			line("    fix: ", h.Fix)
		}
	}
	if d.Explain != "" {
		line("  more: mcp-jail explain ", string(d.Explain))
	}
	if grant, ok := d.grantLast(d.File); ok {
		line("  to grant it: `", grant, "`")
	} else if len(d.Grant) > 0 {
		line("  lines to add", intoFile(cmp.Or(d.File, theConfiguration)), ":")
		for _, l := range d.Grant {
			line("    ", l)
		}
	}
	if len(d.Flags) > 0 {
		if grant, ok := show.TypedOK("mcp-jail grant", d.Server); ok {
			line("  to grant it: `", grant, " --last`")
		}
		line("  flags to add: ", strings.Join(d.Flags, " "))
	}
	lines := d.Said
	if len(lines) == 0 {
		lines = said.Ending(d.Stderr, textStderr)
	}
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			line("  server said: ", show.Quote(l))
		}
	}
	return b.String()
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
	var b strings.Builder
	b.WriteString("\n" + mark + d.causeForModel("\n"))
	if d.Explain != "" {
		b.WriteString("\nMore: mcp-jail explain " + string(d.Explain) + ".")
	}
	for i, h := range d.Hints {
		if i > 0 {
			b.WriteString("\nAlso: " + h.Cause + ".")
		}
	}
	return show.Cut(b.String()+d.linesText(), maxHint)
}

// ErrorNote returns the line that is added to the message of a server's own error, or "" if there is
// nothing to say. It has the words of the ResultBlock, for clients that show the message alone.
func (d Diagnosis) ErrorNote() string {
	if d.Cause == "" {
		return ""
	}
	more := ""
	if d.Explain != "" {
		more = " More: mcp-jail explain " + string(d.Explain) + "."
	}
	return mark + show.Cut(show.Line(d.causeForModel(" ")), maxMessage-len(mark)-len(more)) + more
}

// mark begins what mcp-jail adds to a text of the server.
const mark = "[mcp-jail] "

// causeForModel returns the cause and the remedy, as sentences for a model or a person.
func (d Diagnosis) causeForModel(between string) string {
	text := ""
	switch d.Attribution {
	case None:
		text += "The jail refused nothing during this call: "
	case Certain:
		text += "Cause: "
	case Likely:
		text += "Likely cause: "
	default:
		text += "Possible cause: "
	}
	text += d.Cause + "."
	if d.Fix == "" {
		return text
	}
	if d.NoLine {
		text += between + strings.ToUpper(d.Fix[:1]) + d.Fix[1:]
	} else {
		text += between + "The user can change this: " + d.Fix
	}
	if d.NoLine || !strings.HasSuffix(d.Fix, ".") { // as in "--write ."
		text += "."
	}
	return text
}
