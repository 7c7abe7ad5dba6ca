package redact

import (
	"encoding/hex"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

const (
	dumpRow   = 16  // bytes in a row of what hexdump, xxd and od print
	maxDumped = 256 // bytes of the longest value that is searched in such rows; tokens are shorter
)

// hexForms returns v in hex, with and without separators between the bytes. For a value
// that is dumped by itself it also returns the rows of a dump and the text beside each.
func hexForms(v string) (all []string) {
	add := func(forms ...string) {
		for _, f := range forms {
			all = append(all, f, strings.ToUpper(f))
		}
	}
	digits := hex.EncodeToString([]byte(v))
	add(digits, spaced(digits, 2, " "), spaced(digits, 2, ":"), strings.ReplaceAll(spaced(digits, 2, `\x`), " ", ""))
	for at := 0; at < len(v) && len(v) <= maxDumped; at += dumpRow {
		row := v[at:min(at+dumpRow, len(v))]
		if len(row) < minSecret {
			break
		}
		digits := hex.EncodeToString([]byte(row))
		half := digits[:min(dumpRow, len(digits))]
		add(spaced(digits, 2, " "), spaced(digits, 4, " "), strings.TrimSpace(spaced(half, 2, " ")+"  "+spaced(digits[len(half):], 2, " ")))
		if show.IsPlain(row) {
			all = append(all, "|"+row+"|", "  "+row, ">"+row+"<") // hexdump, xxd, od
		}
	}
	return all
}

func spaced(digits string, n int, between string) string {
	var b strings.Builder
	for at := 0; at < len(digits); at += n {
		if at > 0 {
			b.WriteString(between)
		}
		b.WriteString(digits[at:min(at+n, len(digits))])
	}
	return b.String()
}
