// Command picture runs the demonstration and draws two parts of its output with the colours as an SVG file, the
// picture of the README.
//
//	go run ./examples/demo/picture --out docs/demo.svg
//
// If the demonstration fails, the file stays as it was.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const demonstration = "github.com/mcp-jail/mcp-jail/examples/demo"

func main() {
	out := flag.String("out", "docs/demo.svg", "write to this `file`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *out)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) error {
	text, err := transcript(ctx)
	if err != nil {
		return err
	}
	return os.WriteFile(out, draw("make demo", parse(keep(text))), 0o644)
}

// shown are the parts of the demonstration that the picture has.
var shown = []string{"1", "3"}

// number matches the number before the heading of a part, after its colour.
var number = regexp.MustCompile(`^((?:\x1b\[[0-9;]*m)*)(\d+)\b`)

// keep returns the parts of a transcript that are shown, counted anew, and what has no number.
// Blank lines are between the parts.
func keep(text string) string {
	var kept []string
	n := 0
	for part := range strings.SplitSeq(text, "\n\n") {
		m := number.FindStringSubmatch(part)
		switch {
		case m == nil:
			kept = append(kept, part)
		case slices.Contains(shown, m[2]):
			n++
			kept = append(kept, m[1]+strconv.Itoa(n)+part[len(m[0]):])
		}
	}
	return strings.Join(kept, "\n\n")
}

func transcript(ctx context.Context) (string, error) {
	command := exec.CommandContext(ctx, "go", "run", demonstration, "--color", "always")
	// The demonstration also gets the SIGINT of Ctrl-C and cleans up. This process waits for it.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("the demonstration failed, there is nothing to draw: %w", err)
	}
	return string(text), nil
}
