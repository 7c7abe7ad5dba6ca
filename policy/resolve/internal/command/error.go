package command

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Error reports why a server's program cannot be started, before anything runs:
// stage "exec" of a failure.
type Error struct {
	Command string
	Reason  string
	Hint    string
	Fix     string   // advice; "" if the program must be installed or its name corrected
	Path    []string // the directories that were searched; nil for a path
	// Refused reports that there is something of that name, which mcp-jail starts on no Windows.
	Refused bool
}

func (e *Error) Error() string {
	msg := fmt.Sprintf("%s: %s", policy.Abbreviate(show.Program(e.Command)), e.Reason)
	if len(e.Path) > 0 {
		msg += " in PATH (" + someOf(e.Path) + ")"
	}
	for _, advice := range []string{e.Hint, e.Fix} {
		if advice != "" {
			msg += "; " + advice
		}
	}
	return msg
}

// someOf returns the first directories of a PATH, and how many more there are: a message is cut where it is
// too long, and the advice is at its end.
func someOf(dirs []string) string {
	const most = 6
	separator := ":"
	if strings.Contains(dirs[0], `\`) { // of Windows
		separator = ";"
	}
	text := strings.Join(dirs[:min(len(dirs), most)], separator)
	if more := len(dirs) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

const (
	notFound      = "was not found"
	notExecutable = "is not executable"
	shorterPath   = "clients often start servers with a shorter PATH than a shell has: write the absolute path of the program"
	wholeLine     = "this is a whole line in one word"
	standApart    = "write the program alone, and each argument as a word after it (in a client's file in args, in a table in arguments = [...])"
)

// makeExecutable returns advice for a file p that is not executable, and "" for any other reason.
// The advice contains no text of the file: a server may have written it, for a user or an agent to
// run.
func makeExecutable(p, reason string) string {
	if !strings.HasPrefix(reason, notExecutable) {
		return ""
	}
	return "make it executable: " + show.Typed("chmod +x", p) + "; or put its interpreter in front of it in this command line"
}
