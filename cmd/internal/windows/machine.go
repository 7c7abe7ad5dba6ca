package windows

import (
	"fmt"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// CheckLook returns an error if an entry of a project's file names a file of another machine, and this is
// Windows. To look whether such a file is there signs the user in on that machine, which others chose.
func CheckLook(e clients.Entry, host clients.Host, isProject bool) error {
	if host.OS != "windows" || host.Mounted || !isProject {
		return nil
	}
	word := otherMachine(e)
	if word == "" {
		return nil
	}
	return fmt.Errorf("the server %s names a file of another machine (%s), and Windows would sign you in there for a look at it, so mcp-jail looks at no server of this file: take that server out, or copy its file to a drive of this machine", show.Name(e.Server), show.Name(word))
}

// remote matches a path of another machine, or one that goes around the rules of names, where a client's
// variables can put it: at the start of a word, or after a character that is in no address and no name.
var remote = lazy.Regexp(`(?:^|[^A-Za-z0-9._:/\\])(?:[\\/]{2}|[\\/]\?\?[\\/])[^\\/]`)

// ofLinux matches what begins the path of a file of a Linux in WSL, which is on this machine.
var ofLinux = lazy.Regexp(`(?i)(^|[=;])[\\/]{2}wsl(?:\.localhost|\$)[\\/]`)

// otherMachine returns a word of an entry that names a file of another machine, as \\server\share does, or "".
func otherMachine(e clients.Entry) string {
	words := append(e.Argv(), e.Cwd, e.EnvFile)
	for _, v := range e.Env {
		words = append(words, v.Value)
	}
	for _, word := range words {
		if remote().MatchString(ofLinux().ReplaceAllString(word, "$1")) {
			return word
		}
	}
	return ""
}
