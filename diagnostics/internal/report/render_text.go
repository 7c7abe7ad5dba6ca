package report

import (
	"cmp"
	"strings"

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
		if i == 0 {
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
	if len(d.Grant) > 0 {
		line("  lines to add", intoFile(cmp.Or(d.File, theConfiguration)), ":")
		for _, l := range d.Grant {
			line("    ", l)
		}
	}
	if len(d.Flags) > 0 {
		line("  flags to add: ", strings.Join(d.Flags, " "))
	}
	if len(d.Line) > 0 {
		line("  the client's whole new command line: `", show.Typed("mcp-jail why", d.Server), "`")
	}
	said := d.Said
	if len(said) == 0 {
		said = lastN(d.Stderr, textStderr)
	}
	for _, l := range said {
		if strings.TrimSpace(l) != "" {
			line("  server said: ", show.Quote(l))
		}
	}
	return b.String()
}
