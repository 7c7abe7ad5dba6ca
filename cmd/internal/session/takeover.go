package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// OtherWords is what [TakeOver] asks the companion about.
type OtherWords struct {
	ID    string
	Given []string
}

// TakeOver reports whether the error of a start is about other words than those of its id, and the file of that has
// taken them over: the companion has found exactly this line in one of the user's own client files. It prints that.
func TakeOver(c terminal.Console, err error) bool {
	var other *records.WordsError
	if !errors.As(err, &other) {
		return false
	}
	companion, err := cmdline.Beside(cmdline.Companion)
	if err != nil {
		return false
	}
	asked, err := json.Marshal(OtherWords{other.ID, other.Given})
	if err != nil {
		return false
	}
	cmd := exec.Command(companion, "wrap", "--for-session")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(asked), c.ErrWriter()
	out, err := cmd.Output()
	place := strings.TrimSuffix(string(out), "\n")
	if err != nil || place == "" {
		return false
	}
	c.Sayf("%s now starts %s, as %s says. It keeps its policy, data and logins.", show.Name(records.KeyLabel(other.ID)), show.Line(terminal.ShownLine(other.Given)), show.Line(place))
	return true
}
