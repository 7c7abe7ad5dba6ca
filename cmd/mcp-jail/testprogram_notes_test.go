package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
)

// notesMain is the server in the examples of docs/explain. Its tools do what they are asked
// to do.
func notesMain() {
	serve("notes", append(victimTools, "start", "move", "socket"), func(c toolCall) (string, error) {
		arg := c.Arguments["arg"]
		switch c.Name {
		case "start":
			words := strings.Fields(arg)
			out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
			if err != nil && len(out) > 0 {
				return "", fmt.Errorf("%s", out)
			}
			return string(out), err
		case "move":
			return "moved", os.Rename(arg, c.Arguments["to"])
		case "socket":
			conn, err := net.Dial("unix", arg)
			if err != nil {
				return "", err
			}
			return "connected", conn.Close()
		}
		return useVictim(c)
	})
}
