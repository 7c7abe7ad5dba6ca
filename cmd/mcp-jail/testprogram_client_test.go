package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// clientMain is an MCP client for scripts:
//
//	client [flags] FILE PROGRAM [ARG...]
//
// It starts PROGRAM and sends the lines of FILE. After each request it waits for the
// response, and at the end it closes the program's stdin. It copies the output of the program
// and exits with its status. If the program answers after 20 s that its package is still being fetched,
// as on a slow machine, the client does what the answer says, and starts it again. It leaves out the
// lines that say how long a start takes: a busy machine is no finding.
func clientMain() {
	once := flag.Bool("once", false, "copy the answer that the package is still being fetched, too")
	together := flag.Bool("together", false, "send all that follows the first response at once")
	deaf := flag.Bool("deaf", false, "close the program's stdout before anything is sent")
	sig := flag.Int("signal", 0, "at the end send this signal instead of closing stdin")
	answer := flag.String("answer", "", "the result that answers each request of the program, as a person would, after a moment")
	pause := flag.Duration("pause", 0, "before each line")
	flag.Parse()
	begin := time.Now()
	fetching, err := client(*once, *together, *deaf, syscall.Signal(*sig), *pause, *answer, flag.Args())
	for fetching && !*once && time.Since(begin) < testkit.Patience {
		fetching, err = client(*once, *together, *deaf, syscall.Signal(*sig), *pause, *answer, flag.Args())
	}
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			os.Exit(statusAfter(exit.ProcessState))
		}
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(99)
	}
}

// withoutProgress passes lines on, but for those that say that a start takes long.
type withoutProgress struct {
	to   io.Writer
	rest []byte // a line without its end
}

var progress = regexp.MustCompile(`^mcp-jail: (building the jail|waiting for the first answer) of server .*; \S+ so far\n$`)

func (w *withoutProgress) Write(b []byte) (int, error) {
	w.rest = append(w.rest, b...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		w.rest = rest
		if line = append(slices.Clone(line), '\n'); !progress.Match(line) {
			w.to.Write(line)
		}
	}
}

func (w *withoutProgress) flush() { w.to.Write(w.rest) }

// client reports whether the program answered, in its time, that its package is still being fetched.
func client(once, together, deaf bool, sig syscall.Signal, pause time.Duration, answer string, args []string) (fetching bool, err error) {
	script, err := os.Open(args[0])
	if err != nil {
		return false, err
	}
	defer script.Close()
	cmd := exec.Command(args[1], args[2:]...)
	said := &withoutProgress{to: os.Stderr}
	defer said.flush()
	cmd.Stderr = said
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		cmd.Stderr = os.Stderr // a terminal has colours
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return false, err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return false, err
	}
	cmd.Stdout = theirs
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return false, err
	}
	theirs.Close()
	answered := make(chan string, 100)
	gone := make(chan struct{})
	if deaf {
		out.Close()
		close(gone)
	} else {
		go func() {
			defer close(gone)
			lines := bufio.NewReader(out)
			for {
				line, err := lines.ReadBytes('\n')
				if !once && time.Since(begin) > 20*time.Second && bytes.Contains(line, []byte(" is still being fetched (")) {
					fetching = true
				} else {
					os.Stdout.Write(line)
				}
				if err != nil {
					return
				}
				var m struct {
					ID     json.RawMessage `json:"id"`
					Method string          `json:"method"`
				}
				switch {
				case json.Unmarshal(line, &m) != nil || m.ID == nil:
				case m.Method == "":
					answered <- string(m.ID)
				case answer != "":
					time.Sleep(600 * time.Millisecond)
					fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, answer)
				}
			}
		}()
	}
	requests := bufio.NewReader(script)
	for asked := false; ; {
		line, err := requests.ReadBytes('\n')
		if len(line) == 0 || err != nil {
			break
		}
		time.Sleep(pause)
		if together && asked {
			rest, err := io.ReadAll(requests)
			if err != nil {
				return false, err
			}
			line = append(line, rest...)
		}
		if _, err := in.Write(line); err != nil {
			break
		}
		for one := range bytes.Lines(line) {
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			if json.Unmarshal(one, &m) != nil || m.ID == nil || m.Method == "" {
				continue
			}
			asked = true
			if err := wait(string(m.ID), answered, gone); err != nil {
				cmd.Process.Kill()
				cmd.Wait()
				return false, err
			}
		}
	}
	if sig != 0 {
		cmd.Process.Signal(sig)
	} else {
		in.Close()
	}
	err = cmd.Wait()
	<-gone
	io.Copy(io.Discard, out)
	return fetching, err
}

func wait(id string, answered <-chan string, gone <-chan struct{}) error {
	timeout := time.After(testkit.Patience)
	for {
		select {
		case got := <-answered:
			if got == id {
				return nil
			}
		case <-gone:
			return nil
		case <-timeout:
			return fmt.Errorf("request %s was not answered within %v", id, testkit.Patience)
		}
	}
}
