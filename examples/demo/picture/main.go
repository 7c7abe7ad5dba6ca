// Command picture runs the demonstration and draws parts of its output with the colours as an SVG file.
//
//	go run ./examples/demo/picture --out docs/demo.svg [--parts 1,3] [-- FLAGS OF THE DEMO]
//	some-program | go run ./examples/demo/picture --stdin --out some.svg
//
// If the demonstration fails, the file stays as it was.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const demonstration = "github.com/mcp-jail/mcp-jail/examples/demo"

func main() {
	out := flag.String("out", "docs/demo.svg", "write to this `file`")
	title := flag.String("title", "make demo", "`words` for the title bar")
	stdin := flag.Bool("stdin", false, "draw standard input instead of running the demonstration")
	parts := flag.String("parts", shown, "draw only the parts with these `numbers`; empty for all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, picture{out: *out, title: *title, parts: *parts, stdin: *stdin}, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// shown are the parts of the demonstration that the picture of the README has.
const shown = "1,3"

// picture says what is drawn.
type picture struct {
	out, title, parts string
	stdin             bool
}

func run(ctx context.Context, p picture, flags []string) error {
	text, err := transcript(ctx, p.stdin, flags)
	if err != nil {
		return err
	}
	if !p.stdin {
		text = keep(text, p.parts)
	}
	if err := os.MkdirAll(filepath.Dir(p.out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(p.out, draw(p.title, parse(text)), 0o644)
}

// number matches the number before the heading of a part, after its colour.
var number = regexp.MustCompile(`^((?:\x1b\[[0-9;]*m)*)(\d+)\b`)

// keep returns the parts of a transcript with these numbers, counted anew, and what has no number.
// Blank lines are between the parts.
func keep(text, numbers string) string {
	if numbers == "" {
		return text
	}
	var kept []string
	n := 0
	for part := range strings.SplitSeq(text, "\n\n") {
		m := number.FindStringSubmatch(part)
		switch {
		case m == nil:
			kept = append(kept, part)
		case slices.Contains(strings.Split(numbers, ","), m[2]):
			n++
			kept = append(kept, m[1]+strconv.Itoa(n)+part[len(m[0]):])
		}
	}
	return strings.Join(kept, "\n\n")
}

func transcript(ctx context.Context, stdin bool, flags []string) (string, error) {
	if stdin {
		text, err := io.ReadAll(os.Stdin)
		return string(text), err
	}
	command := exec.CommandContext(ctx, "go", append([]string{"run", demonstration, "--color", "always"}, flags...)...)
	// The demonstration also gets the SIGINT of Ctrl-C and cleans up. This process waits for it.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	var text bytes.Buffer
	command.Stdout, command.Stderr = &text, os.Stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("the demonstration failed, there is nothing to draw: %w", err)
	}
	return text.String(), nil
}
