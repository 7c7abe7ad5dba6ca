// Command picture runs the demonstration and draws its output with the colours as an SVG file.
//
//	go run ./examples/demo/picture --out docs/demo.svg [-- FLAGS OF THE DEMO]
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
	"time"
)

const demonstration = "github.com/mcp-jail/mcp-jail/examples/demo"

func main() {
	out := flag.String("out", "docs/demo.svg", "write to this `file`")
	title := flag.String("title", "go run ./examples/demo", "`words` for the title bar")
	stdin := flag.Bool("stdin", false, "draw standard input instead of running the demonstration")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *out, *title, *stdin, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, title string, stdin bool, flags []string) error {
	text, err := transcript(ctx, stdin, flags)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, draw(title, parse(text)), 0o644)
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
