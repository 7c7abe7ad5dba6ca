package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// ttyMain runs a program with a terminal as its standard input, output and error, and copies
// the output of the terminal to stdout:
//
//	tty [-columns N] [-after TEXT -type TEXT]... PROGRAM [ARG...]
//
// It types the text of each -type, with \n for Enter, after the terminal has shown that of its
// -after. Without -columns the terminal does not know its width.
func ttyMain() {
	columns := flag.Int("columns", 0, "the width of the terminal")
	var keys, after []string
	flag.Func("type", "what to type; ^C, ^D and ^Z stand for those keys", func(s string) error {
		keys = append(keys, strings.NewReplacer("^C", "\x03", "^D", "\x04", "^Z", "\x1a", `\n`, "\n").Replace(s))
		return nil
	})
	flag.Func("after", "wait until the terminal shows this", func(s string) error { after = append(after, s); return nil })
	flag.Parse()
	err := errors.New("each -type needs its -after")
	if len(keys) == len(after) {
		err = inTTY(*columns, keys, after, flag.Args())
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(statusAfter(exit.ProcessState))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tty:", err)
		os.Exit(99)
	}
}

func inTTY(columns int, keys, after, args []string) error {
	master, slave, err := testkit.Terminal(columns, 0)
	if err != nil {
		return err
	}
	defer master.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	slave.Close()
	screen := &screen{}
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		io.Copy(screen, master) // fails with EIO after the last close of the other end
	}()
	for i, text := range after {
		if err = screen.wait(text, shown); err != nil {
			cmd.Process.Kill()
			break
		}
		master.WriteString(keys[i])
	}
	start := time.Now()
	ended := cmd.Wait()
	<-shown
	fmt.Fprintf(os.Stderr, "tty: ended after %.1f s\n", time.Since(start).Seconds())
	return errors.Join(err, ended)
}

// screen copies the output of a terminal and notes when a text has appeared.
type screen struct {
	mu  sync.Mutex
	all strings.Builder // since the last text that was waited for
}

// wait waits until the terminal has shown a text since the last one, or shows no more.
func (s *screen) wait(text string, ended <-chan struct{}) error {
	for deadline := time.Now().Add(testkit.Patience); ; {
		s.mu.Lock()
		seen := strings.Contains(s.all.String(), text)
		if seen {
			s.all.Reset()
		}
		s.mu.Unlock()
		if seen {
			return nil
		}
		select {
		case <-ended:
			return nil
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the terminal never showed %q", text)
		}
	}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.all.Write(p)
	s.mu.Unlock()
	return os.Stdout.Write(p)
}
