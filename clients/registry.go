package clients

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/policy/config"
)

// All returns every client, in the order in which they are shown. If a file is a place of
// several clients, the first of them speaks for it. The slice is the caller's own; what the clients
// hold is shared, and never changes.
func All() []Client { return slices.Clone(all()) }

// all makes the clients once: wrap asks for them some ten times a file.
var all = sync.OnceValue(func() []Client {
	return []Client{
		claudeDesktop(), claudeCode(), cursor(), copilot(), vscode(), codex(), gemini(), qwen(),
		windsurf(), zed(), cline(), roo(), kilo(), goose(), lmStudio(), openCode(), kiro(),
		amazonQ(), junie(), continueDev(), warp(), crush(), jp(),
	}
})

// Names returns the names of all clients, in the order of All.
func Names() []string {
	var names []string
	for _, c := range all() {
		names = append(names, c.Name)
	}
	return names
}

// UnknownError is the error about a name that no client has.
type UnknownError struct {
	Name string
	Near []string // the names that were perhaps meant
}

func (e *UnknownError) Error() string {
	if len(e.Near) > 0 {
		return fmt.Sprintf("no client is called %q; did you mean %s?", e.Name, strings.Join(e.Near, " or "))
	}
	return fmt.Sprintf("no client is called %q; mcp-jail knows %s; for the file of another client, give the file", e.Name, strings.Join(Names(), ", "))
}

// ByName returns the client with a name. Upper case, blanks and underscores do not matter. The
// error is an *UnknownError.
func ByName(name string) (Client, error) {
	wanted := plain(name)
	for _, c := range all() {
		if c.Name == wanted || plain(c.Title) == wanted || slices.Contains(c.Aliases, wanted) {
			return c, nil
		}
	}
	return Client{}, &UnknownError{Name: name, Near: near(wanted)}
}

// near returns the names of the clients that a word is a part of, or else the one that is spelt most alike.
func near(word string) []string {
	found := slices.DeleteFunc(Names(), func(name string) bool { return len(word) < 2 || !strings.Contains(name, word) })
	if w := config.Suggest(word, Names()); len(found) == 0 && w != "" {
		return []string{w}
	}
	return found
}
