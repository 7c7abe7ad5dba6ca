package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/toml"
)

// Access returns the tables of a server's grants as a file has them, with their comments, for a server of
// another name. Only tables with a header of their own are among them.
func Access(text []byte, server, as string) (string, error) {
	d, err := parse(text)
	if err != nil {
		return "", fmt.Errorf("the table of the server %s: %w", show.Name(server), err)
	}
	base := []string{"servers", server}
	var b strings.Builder
	for i, e := range d.all {
		if !e.Header || len(e.Key) <= len(base) || shared(e.Key, base) < len(base) || e.Key[2] != "access" && e.Key[2] != "tools" {
			continue
		}
		body := d.body(i)
		if len(body) == 0 && slices.ContainsFunc(d.all, func(o toml.Expression) bool {
			return o.Header && len(o.Key) > len(e.Key) && shared(o.Key, e.Key) == len(e.Key)
		}) {
			continue // the tables in it say that it is there
		}
		header := "[" + spelled(append([]string{"servers", as}, e.Key[2:]...)) + "]"
		if strings.HasPrefix(string(d.text[e.Start:e.End]), "[[") {
			header = "[" + header + "]"
		}
		end := d.lineEnd(e.End)
		lines := append([]string{header + string(d.text[e.End:end])}, body...)
		b.WriteString("\n" + strings.ReplaceAll(strings.Join(lines, "\n"), "\r", "") + "\n")
	}
	return b.String(), nil
}
