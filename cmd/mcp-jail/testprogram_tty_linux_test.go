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

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// ttyMain runs a program with a terminal as its standard input, output and error, and copies
// the output of the terminal to stdout:
//
//	tty [-type TEXT -after TEXT] PROGRAM [ARG...]
//
// It types the text of -type, with \n for Enter, after the terminal has shown that of -after.
func ttyMain() {
	keys := flag.String("type", "", "what to type; ^C and ^D stand for those keys")
	after := flag.String("after", "", "wait until the terminal shows this")
	flag.Parse()
	err := inTTY(strings.NewReplacer("^C", "\x03", "^D", "\x04", `\n`, "\n").Replace(*keys), *after, flag.Args())
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(statusAfter(exit.ProcessState))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tty:", err)
		os.Exit(99)
	}
}

func inTTY(keys, after string, args []string) error {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		return err
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	slave.Close()
	screen := &screen{wanted: after, ready: make(chan struct{})}
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		io.Copy(screen, master) // fails with EIO after the last close of the other end
	}()
	if keys != "" {
		select {
		case <-screen.ready:
			master.WriteString(keys)
		case <-shown:
		case <-time.After(testkit.Patience):
			cmd.Process.Kill()
			err = fmt.Errorf("the terminal never showed %q", after)
		}
	}
	start := time.Now()
	ended := cmd.Wait()
	<-shown
	fmt.Fprintf(os.Stderr, "tty: ended after %.1f s\n", time.Since(start).Seconds())
	return errors.Join(err, ended)
}

// screen copies the output of a terminal and notes when a text has appeared.
type screen struct {
	wanted string
	ready  chan struct{}
	once   sync.Once
	all    strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.all.Write(p)
	if strings.Contains(s.all.String(), s.wanted) {
		s.once.Do(func() { close(s.ready) })
	}
	return os.Stdout.Write(p)
}
