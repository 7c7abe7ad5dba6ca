package commands

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/target"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
)

// confirm asks a question on the terminal. It returns nil if the answer is yes.
func confirm(c terminal.Console, question string) error {
	if !terminal.IsTerminal(c.In) || !terminal.IsTerminal(c.Out) {
		return target.UsageErrorf("there is no terminal to ask on: %s In a script, use --yes", question)
	}
	if !askYes(c, question) {
		return errors.New("nothing was changed: the answer was not yes")
	}
	return nil
}

// askYes asks a question and reports whether the answer is yes.
func askYes(c terminal.Console, question string) bool {
	fmt.Fprintf(c.Err, "%s [y/N] ", terminal.Printable(question))
	answer, _ := bufio.NewReader(io.LimitReader(c.In, 100)).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}
