package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// clientMain is an MCP client for scripts:
//
//	client [flags] FILE PROGRAM [ARG...]
//
// It starts PROGRAM and sends the lines of FILE. After each request it waits for the
// response, and at the end it closes the program's stdin. It copies the output of the program
// and exits with its status.
func clientMain() {
	deaf := flag.Bool("deaf", false, "close the program's stdout before anything is sent")
	sig := flag.Int("signal", 0, "at the end send this signal instead of closing stdin")
	pause := flag.Duration("pause", 0, "before each line")
	flag.Parse()
	if err := client(*deaf, syscall.Signal(*sig), *pause, flag.Args()); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			os.Exit(statusAfter(exit.ProcessState))
		}
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(99)
	}
}

func client(deaf bool, sig syscall.Signal, pause time.Duration, args []string) error {
	script, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer script.Close()
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdout = theirs
	if err := cmd.Start(); err != nil {
		return err
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
				os.Stdout.Write(line)
				if err != nil {
					return
				}
				var m struct {
					ID     json.RawMessage `json:"id"`
					Method string          `json:"method"`
				}
				if json.Unmarshal(line, &m) == nil && m.ID != nil && m.Method == "" {
					answered <- string(m.ID)
				}
			}
		}()
	}
	requests := bufio.NewReader(script)
	for {
		line, err := requests.ReadBytes('\n')
		if len(line) == 0 || err != nil {
			break
		}
		time.Sleep(pause)
		if _, err := in.Write(line); err != nil {
			break
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method == "" {
			continue
		}
		if err := wait(string(m.ID), answered, gone); err != nil {
			cmd.Process.Kill()
			cmd.Wait()
			return err
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
	return err
}

func wait(id string, answered <-chan string, gone <-chan struct{}) error {
	timeout := time.After(30 * time.Second)
	for {
		select {
		case got := <-answered:
			if got == id {
				return nil
			}
		case <-gone:
			return nil
		case <-timeout:
			return fmt.Errorf("request %s was not answered within 30 s", id)
		}
	}
}
