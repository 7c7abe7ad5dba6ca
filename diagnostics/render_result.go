package diagnostics

import "strings"

// MetaDenials is the member of a result's _meta that ResultMeta is the value of.
const MetaDenials = "dev.mcp-jail/denials"

// ResultMeta is the JSON value for _meta["dev.mcp-jail/denials"] of a tool
// result: the list of what the jail recorded, in the shape of an error's
// `denials`. It is one line, and nil where the jail recorded nothing: a conclusion
// from text is no denial, it stands in the ResultBlock, and some clients print _meta.
func (d Diagnosis) ResultMeta() []byte {
	if len(d.Denials) == 0 {
		return nil
	}
	return encode(lastN(d.Denials, frameDenials))
}

// ResultBlock is the JSON of the text content block that is added to an error
// result. Its text begins "\n[mcp-jail]", since some clients join blocks without a line
// break. It is one line. It speaks to a model as much as to a person. A
// [Diagnosis.Silent] one has none: nothing would be said.
func (d Diagnosis) ResultBlock() []byte {
	return encode(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", d.resultText()})
}

func (d Diagnosis) resultText() string {
	var b strings.Builder
	b.WriteString("\n[mcp-jail] ")
	switch {
	case d.Attribution == None:
		b.WriteString("The jail refused nothing during this call: ")
	case d.Attribution == Certain:
		b.WriteString("Cause: ")
	case d.Attribution == Likely:
		b.WriteString("Likely cause: ")
	default:
		b.WriteString("Possible cause: ")
	}
	b.WriteString(d.Cause + ".")
	if strings.HasPrefix(d.Fix, "no line ") {
		b.WriteString("\nN" + d.Fix[1:] + ".")
	} else if d.Fix != "" {
		b.WriteString("\nThe user can change this: " + d.Fix + ".")
	}
	for i, h := range d.Hints {
		if i > 0 {
			b.WriteString("\nAlso: " + h.Cause + ".")
		}
	}
	if len(d.Grant) > 0 {
		b.WriteString("\nLines for the configuration:\n" + strings.Join(d.Grant, "\n"))
	} else if len(d.Flags) > 0 {
		b.WriteString("\nFlags for mcp-jail run: " + strings.Join(d.Flags, " "))
	}
	return cut(b.String(), maxHint)
}
