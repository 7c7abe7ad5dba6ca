package main

import (
	"fmt"
	"os"
)

// planter is a server that prepares the start of its other processes: "plant" and "put"
// as far as they are let, and "use" is what they want to lead.
func planterMain() { serve("planter", []string{"plant", "put", "use"}, usePlanter) }

func usePlanter(c toolCall) (string, error) {
	at := c.Arguments["at"]
	switch c.Name {
	case "plant": // a link in the place of something
		if err := os.Rename(at, at+".away"); err != nil && !os.IsNotExist(err) {
			return "", err
		}
		return "planted", os.Symlink(c.Arguments["to"], at)
	case "put":
		if err := os.WriteFile(at, []byte(c.Arguments["text"]), 0o755); err != nil {
			return "", err
		}
		return "put", os.Chmod(at, 0o755)
	}
	b, err := os.ReadFile(at)
	return fmt.Sprintf("used %s", b), err
}
