package mac

import "github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"

// Path is the program that applies a profile. It is never looked up in PATH.
const Path = "/usr/bin/sandbox-exec"

// arguments returns the arguments of sandbox-exec that start program, with args, under a profile. Other
// users can read them until it executes the program.
func arguments(text seatbelt.Text, program string, args ...string) []string {
	list := []string{"-p", text.Profile}
	for _, p := range text.Params {
		list = append(list, "-D", p)
	}
	return append(append(list, "--", program), args...)
}
