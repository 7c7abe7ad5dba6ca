package main

import (
	"fmt"
	"os"
	"os/exec"
)

// Some thefts need a second process, and the only program that is sure to be there is this one.
const (
	sayHello = "accomplice-hello"  // says that it was started
	linger   = "accomplice-linger" // see survive
)

const hello = "hello from the accomplice"

// accomplice does the part that the arguments ask for and answers whether they asked for one. Tests dispatch to it too,
// since there the program that is sure to be there is the test.
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

// self is a command that runs this program as its accomplice.
func self(arguments ...string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.Command(program, arguments...), nil
}
