package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
)

const unchanged = "nothing was changed"

// Confirm asks a question on the terminal, until ctx is cancelled or a signal comes: the user may think for
// long. It returns nil if the answer is yes.
func Confirm(ctx context.Context, c terminal.Console, question string) error {
	if err := canAsk(c); err != nil {
		return err
	}
	answer, err := ask(ctx, c, question, "[y/N]", unchanged)
	if err == nil && !isYes(answer) {
		return &terminal.DeclinedError{}
	}
	return err
}

func canAsk(c terminal.Console) error {
	if c.Asks() {
		return nil
	}
	return terminal.UsageErrorf(unchanged + ": the command asks first, and there is no terminal. In a script, add --yes.")
}

// AskKey asks a question that has more answers than yes and no, and returns what the user types. keys says what the
// answers do.
func AskKey(c terminal.Console, question, keys string) (string, error) {
	if err := canAsk(c); err != nil {
		return "", err
	}
	return ask(context.Background(), c, question, keys, unchanged)
}

// AskYes asks a question and reports whether the answer is yes. A signal ends the question with an error
// that says what has not happened.
func AskYes(c terminal.Console, question, undone string) (bool, error) {
	answer, err := ask(context.Background(), c, question, "[y/N]", undone)
	return isYes(answer), err
}

func isYes(answer string) bool { return answer == "y" || answer == "yes" }

// ask returns the line that the user types.
func ask(ctx context.Context, c terminal.Console, question, keys, undone string) (answer string, err error) {
	line, err := waitFor(ctx, c, undone, func() (string, error) {
		c.Ask(question, keys)
		line, _ := bufio.NewReader(io.LimitReader(c.Input(), 100)).ReadString('\n')
		return line, nil
	})
	return strings.ToLower(strings.TrimSpace(line)), err
}

// AskText returns the text that the user types after a question. If hidden is set, it is not shown.
// AskText ends as AskYes does.
func AskText(c terminal.Console, question string, hidden bool) (string, error) {
	if hidden {
		defer c.Restorer()() // also where a signal comes
	}
	return waitFor(context.Background(), c, "no server was started", func() (string, error) { return c.AskText(question, hidden) })
}

// waitFor returns what read returns. If ctx is cancelled or a signal comes before, read goes on without a
// reader: a read of a terminal cannot be interrupted.
func waitFor(ctx context.Context, c terminal.Console, undone string, read func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	interrupted := Interrupts()
	defer signal.Stop(interrupted)
	answers := make(chan answer, 1)
	go func() {
		text, err := read()
		answers <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		c.Notef("")
		return "", ctx.Err()
	case <-interrupted:
		c.Notef("")
		return "", &terminal.InterruptedError{Undone: undone}
	case a := <-answers:
		return a.text, a.err
	}
}

// Interrupts returns a channel for the signals that end a command, without those that the caller of
// mcp-jail has it ignore. signal.Stop ends that.
func Interrupts() chan os.Signal {
	interrupted := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(interrupted, s)
		}
	}
	return interrupted
}
