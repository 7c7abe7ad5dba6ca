package learncmd

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
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

// TestWithLater: what two quick sessions have in common, and a later one does not, is no difference. A part that is
// the same in all three is a difference when the policy changes it.
func TestWithLater(t *testing.T) {
	said := func(text string) *drive.Played {
		raw, err := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}})
		if err != nil {
			t.Fatal(err)
		}
		return &drive.Played{Answers: []drive.Answer{{Request: drive.Call("commit", json.RawMessage("{}")), Result: raw}}}
	}
	for _, c := range []struct {
		name, first, again, later, got string
		differs                        bool
	}{
		{"the two were in one second", "commit 6b5e68e made", "commit 6b5e68e made", "commit 5b67702 made", "commit 99c0ffe made", false},
		{"and it failed", "commit 6b5e68e made", "commit 6b5e68e made", "commit 5b67702 made", "commit 99c0ffe refused", true},
		{"it is always the same", "commit 6b5e68e made", "commit 6b5e68e made", "commit 6b5e68e made", "commit 99c0ffe made", true},
		{"the later one says no more", "commit 6b5e68e made", "commit 5b67702 made", "commit 6b5e68e made", "commit 99c0ffe refused", true},
	} {
		e := withLater(drive.Expected{First: said(c.first), Again: said(c.again)}, said(c.later), said(c.got))
		if got := e.Compare(said(c.got)); len(got) > 0 != c.differs {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestHandOver: an entry with flags gets the variables of --env in each round, each once.
func TestHandOver(t *testing.T) {
	for given, want := range map[string]string{
		"run -- node s.js":                     "run --env A --env B -- node s.js",
		"run --name x --env B -- node --env A": "run --env A --name x --env B -- node --env A",
	} {
		got, err := (&learnCmd{env: []string{"A", "B"}}).handOver(strings.Fields(given))
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v, want %s", given, got, err, want)
		}
	}
}
