package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/signal"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
)

// Confirm asks a question on the terminal, until ctx is cancelled or a signal comes: the user may think for
// long. It returns nil if the answer is yes.
func Confirm(ctx context.Context, c terminal.Console, question string) error {
	if !c.Asks() {
		return exit.UsageErrorf("there is no terminal to ask on: %s In a script, use --yes", question)
	}
	interrupted := Interrupts()
	defer signal.Stop(interrupted)
	answer := make(chan bool, 1)
	go func() { answer <- AskYes(c, question) }() // a read of a terminal cannot be interrupted
	select {
	case <-ctx.Done():
		c.Notef("")
		return ctx.Err()
	case s := <-interrupted:
		c.Notef("")
		return &exit.InterruptedError{Signal: s, Undone: "nothing was changed"}
	case yes := <-answer:
		if yes {
			return nil
		}
		return errors.New("nothing was changed: the answer was not yes")
	}
}

// AskYes asks a question and reports whether the answer is yes.
func AskYes(c terminal.Console, question string) bool {
	c.Ask(question)
	answer, _ := bufio.NewReader(io.LimitReader(c.Input(), 100)).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}
