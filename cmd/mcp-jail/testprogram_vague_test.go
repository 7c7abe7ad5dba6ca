package main

import (
	"errors"
	"os"
)

// vagueMain is a server that reads the file of a call, and says nothing of the file when that fails.
// "quiet" answers as if nothing had been.
func vagueMain() { serve("vague", []string{"load", "quiet"}, useVague) }

func useVague(c toolCall) (string, error) {
	b, err := os.ReadFile(c.Arguments["arg"])
	if c.Name == "quiet" {
		return "done", nil
	}
	if err != nil {
		return "", errors.New("Error: EACCES: permission denied")
	}
	return "loaded " + string(b), nil
}
