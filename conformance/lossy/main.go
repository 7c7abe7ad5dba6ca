// Command lossy is a relay with a fault, which the comparisons must find.
//
//	lossy FAULT COMMAND [ARG…]
//
// FAULT is one of
//
//	recode   messages of the server are decoded and encoded again
//	drop     notifications of the server are lost
//	latin    characters that are not ASCII become question marks
//	status   the exit status is 0
//	none     a relay without a fault
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: lossy FAULT COMMAND [ARG…]")
		os.Exit(2)
	}
	status, err := relay(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "lossy:", err)
		os.Exit(1)
	}
	os.Exit(status)
}

func relay(fault string, argv []string) (status int, err error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() {
		io.Copy(in, os.Stdin)
		in.Close()
	}()
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadBytes('\n')
		if _, err := os.Stdout.Write(spoil(fault, line)); err != nil {
			return 0, err
		}
		if err != nil {
			break
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	if fault == "status" {
		return 0, nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

func spoil(fault string, line []byte) []byte {
	switch fault {
	case "latin":
		return bytes.Map(func(r rune) rune {
			if r > 127 {
				return '?'
			}
			return r
		}, line)
	case "recode":
		var message any
		if json.Unmarshal(line, &message) != nil {
			return line
		}
		b, err := json.Marshal(message)
		if err != nil {
			return line
		}
		return append(b, '\n')
	case "drop":
		var message struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &message) == nil && message.ID == nil && message.Method != "" {
			return nil
		}
	}
	return line
}
