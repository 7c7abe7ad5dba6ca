package learn

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// maxSource is how much of a source file Mentions reads, and maxMentions how many names it returns.
const (
	maxSource   = 4 << 20
	maxMentions = 200
)

// mention finds a variable that JavaScript, Python or Go reads by name: process.env.X,
// process.env["X"], Deno.env.get("X"), os.environ["X"], os.environ.get("X"), os.getenv("X"),
// os.Getenv("X") and os.LookupEnv("X").
var mention = lazy.Regexp(`\bprocess\??\.env(?:\??\.([A-Za-z_][A-Za-z0-9_]{0,127})\b|(?:\?\.)?\[\s*["'` + "`" + `]([A-Za-z_][A-Za-z0-9_]{0,127})["'` + "`" + `]\s*\])` +
	`|\b(?:os\.environ\[|(?:os\.environ\.get|os\.getenv|os\.Getenv|os\.LookupEnv|Deno\.env\.get)\()\s*["'` + "`" + `]([A-Za-z_][A-Za-z0-9_]{0,127})["'` + "`" + `]`)

// Mentions returns the names of the variables that a source file reads, sorted, each once. It reads
// the text and runs nothing, so a name that the program computes is not among them.
func Mentions(source []byte) (names []string) {
	seen := map[string]bool{}
	for rest := source[:min(len(source), maxSource)]; len(seen) < maxMentions; {
		at := mention().FindSubmatchIndex(rest)
		if at == nil {
			break
		}
		for i := 2; i < len(at); i += 2 {
			if at[i] >= 0 {
				seen[string(rest[at[i]:at[i+1]])] = true
			}
		}
		rest = rest[at[1]:]
	}
	for name := range seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
