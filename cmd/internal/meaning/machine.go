package meaning

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// CheckLook returns an error if an entry of a project's file names a file of another machine, and this is
// Windows. To look whether such a file is there signs the user in on that machine, which others chose. A
// link that leads there is not found. texts returns what the client may make of a word.
func CheckLook(e clients.Entry, host clients.Host, isProject bool, texts func(word string) []string) error {
	if host.OS != "windows" || host.Mounted || !isProject {
		return nil
	}
	words := wordsOf(e)
	for _, word := range words {
		words = append(words, texts(word)...)
	}
	word := otherMachine(words, host.Project)
	switch {
	case word == "":
		return nil
	case otherMachine([]string{ofLinux().ReplaceAllString(word, "$1")}, "") == "":
		return fmt.Errorf("the server %s names a file of a Linux in WSL (%s): Windows asks the network for it where there is no WSL, and else starts that Linux for a look, so mcp-jail looks at no server of this file: take that server out, or write it into a file of your own", show.Name(e.Server), show.Name(word))
	}
	return fmt.Errorf("the server %s names a file of another machine (%s), and Windows would sign you in there for a look at it, so mcp-jail looks at no server of this file: take that server out, or copy its file to a drive of this machine", show.Name(e.Server), show.Name(word))
}

// remote matches a path of another machine, or one that goes around the rules of names, where a client's
// variables can put it: at the start of a word, or after a character that is in no address and no name.
var remote = show.Pattern(`(?:^|[^A-Za-z0-9._:/\\])(?:[\\/]{2}|[\\/]\?\?[\\/])[^\\/]`)

// ofLinux matches what begins the path of a file of a Linux in WSL. Where there is WSL, that is this machine.
var ofLinux = show.Pattern(`(?i)(^|[=;])[\\/]{2}wsl(?:\.localhost|\$)[\\/]`)

func wordsOf(e clients.Entry) []string {
	words := append(e.Argv(), e.Cwd, e.EnvFile)
	for _, v := range e.Env {
		words = append(words, v.Value)
	}
	return words
}

// otherMachine returns a word that names a file of another machine, as \\server\share does, or "". A Linux in
// WSL counts as one, but for that in which the project is.
func otherMachine(words []string, project string) string {
	var own *regexp.Regexp
	if isInLinux(project) {
		names := strings.SplitN(strings.ReplaceAll(project[2:], "/", `\`), `\`, 3)
		own = regexp.MustCompile(`(?i)(^|[=;])[\\/]{2}` + regexp.QuoteMeta(names[0]) + `[\\/]` + regexp.QuoteMeta(names[1]) + `[\\/]`)
	}
	for _, word := range words {
		rest := word
		if own != nil {
			rest = own.ReplaceAllString(word, "$1")
		}
		if remote().MatchString(rest) {
			return word
		}
	}
	return ""
}

// isInLinux reports whether a path has the form of those by which Windows shows the files of a Linux in WSL.
func isInLinux(path string) bool {
	path = strings.ToLower(strings.ReplaceAll(path, "/", `\`))
	return strings.HasPrefix(path, `\\wsl$\`) || strings.HasPrefix(path, `\\wsl.localhost\`)
}
