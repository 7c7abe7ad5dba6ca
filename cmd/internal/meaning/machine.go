package meaning

import (
	"fmt"
	"slices"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// CheckLook returns an error if an entry of a project's file names a file of another machine or of a Linux in WSL, as
// \\server\share does, and this is Windows. To look whether such a file is there signs the user in on that machine,
// which others chose. A link that leads there is not found. texts returns what the client may make of a word.
func CheckLook(e clients.Entry, host clients.Host, isProject bool, texts func(word string) []string) error {
	if host.OS != "windows" || host.Mounted || !isProject {
		return nil
	}
	words := append(e.Argv(), e.Cwd, e.EnvFile)
	for _, v := range e.Env {
		words = append(words, v.Value)
	}
	for _, word := range words {
		words = append(words, texts(word)...)
	}
	if at := slices.IndexFunc(words, remote().MatchString); at >= 0 {
		return fmt.Errorf("the server %s names a file of another machine (%s), and Windows would sign you in there for a look at it, so mcp-jail looks at no server of this file: take that server out, or copy its file to a drive of this machine", show.Name(e.Server), show.Name(words[at]))
	}
	return nil
}

// remote matches a path of another machine, or one that goes around the rules of names, where a client's
// variables can put it: at the start of a word, or after a character that is in no address and no name.
var remote = show.Pattern(`(?:^|[^A-Za-z0-9._:/\\])(?:[\\/]{2}|[\\/]\?\?[\\/])[^\\/]`)
