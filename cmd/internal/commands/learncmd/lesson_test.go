package learncmd

import (
	"errors"
	"io"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/handshake"
)

// TestFailure tests what is said of a server that does not start: once, and without what is for the files of
// clients.
func TestFailure(t *testing.T) {
	said := []string{
		"warning: a warning of each start",
		`server "x" ended before its first answer`,
		`  cause: the jail refused a connection to "a.example:443"`,
		"  in the client's file: `mcp-jail grant x --last` adds these flags",
		"  flags to add: --net a.example",
		"  the client's whole new command line: `mcp-jail why x`",
	}
	const block = `server "x" ended before its first answer` + "\n" + `  cause: the jail refused a connection to "a.example:443"`
	const indented = `server "x" ended before its first answer` + "\n  " + `  cause: the jail refused a connection to "a.example:443"`
	for _, c := range []struct {
		name string
		err  error
		said []string
		want string
	}{
		{"mcp-jail answers", &handshake.ServerError{Method: "initialize", Message: "mcp-jail: " + said[1]}, said, block},
		{"the server answers", &handshake.ServerError{Method: "initialize", Message: "no"}, nil, `the server answered initialize with an error: "no"`},
		{"the server ends", io.EOF, said, "the server ended\n  " + indented},
		{"nothing is said but a warning", errors.New("an error"), said[:1], "an error"},
	} {
		if got := failure(c.err, c.said).Error(); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, got, c.want)
		}
	}
}
