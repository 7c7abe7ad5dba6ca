package main

import (
	"fmt"
	"os"
	"os/exec"
)

// Some thefts need a second process. They start this program again, since no other is sure to exist.
const (
	sayHello = "accomplice-hello"  // says that it was started
	linger   = "accomplice-linger" // see survive
)

const hello = "hello from the accomplice"

// accomplice plays the role that the arguments name, and reports whether they name one. TestMain calls it too, since in
// tests this program is the test binary.
func accomplice(arguments []string) bool {
	if len(arguments) == 0 {
		return false
	}
	switch arguments[0] {
	case sayHello:
		fmt.Println(hello)
	case linger:
		lingerOn(arguments[1:])
	default:
		return false
	}
	return true
}

// self returns a command that starts this program again as an accomplice.
func self(arguments ...string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.Command(program, arguments...), nil
}
