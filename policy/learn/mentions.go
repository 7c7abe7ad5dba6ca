package learn

import (
	"bytes"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// maxSource is how much of a source file Mentions reads, maxFound how many mentions it looks at, and
// maxMentions how many names it returns.
const (
	maxSource   = 4 << 20
	maxFound    = 5000
	maxMentions = 200
	maxVariable = 128 // bytes of a name
)

// mention finds a variable that JavaScript, Python or Go reads by name: process.env.X,
// process.env["X"], Deno.env.get("X"), os.environ["X"], os.environ.get("X"), os.getenv("X"), the same
// without os, os.Getenv("X") and os.LookupEnv("X").
var mention = lazy.Regexp(`\bprocess\??\.env(?:\??\.([A-Za-z_][A-Za-z0-9_]*)\b|(?:\?\.)?\[\s*["'` + "`" + `]([A-Za-z_][A-Za-z0-9_]*)["'` + "`" + `]\s*\])` +
	`|\b(?:environ\[|(?:environ\.get|getenv|os\.Getenv|os\.LookupEnv|Deno\.env\.get)\()\s*["'` + "`" + `]([A-Za-z_][A-Za-z0-9_]*)["'` + "`" + `]`)

// unpacked finds the names in const { X, Y: y, Z = "" } = process.env, and unpackedName each of them.
var (
	unpacked     = lazy.Regexp(`\{([^{}]+)\}\s*=\s*process\.env\b(?:[^.\[?]|$)`)
	unpackedName = lazy.Regexp(`(?:^|,)\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:[:=,]|$)`)
)

// Mentions returns the names of the variables that a source file reads, sorted, each once. It reads
// the text and runs nothing, so a name that the program computes is not among them.
func Mentions(source []byte) (names []string) {
	seen := map[string]bool{}
	source = source[:min(len(source), maxSource)]
	for _, at := range mention().FindAllSubmatch(source, maxFound) {
		for _, name := range at[1:] {
			seen[string(name)] = true
		}
	}
	for _, at := range unpacked().FindAllSubmatch(source, maxFound) {
		for part := range bytes.SplitSeq(at[1], []byte(",")) {
			if name := unpackedName().FindSubmatch(part); name != nil {
				seen[string(name[1])] = true
			}
		}
	}
	delete(seen, "") // the other forms of a mention
	for name := range seen {
		if len(name) > maxVariable {
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names[:min(len(names), maxMentions)]
}
