//go:build darwin || linux

package attempt

import (
	"bufio"
	"encoding/json"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Role is the one argument of a program that is to make attempts. sandbox-exec gives the program that
// it executes its path as argument 0, so the role comes after it.
const Role = "mcp-jail: probe"

// Outcomes is the descriptor to which Serve writes one Outcome a line.
const Outcomes = 3

// Try is an attempt with the number that its outcome has.
type Try struct {
	N    int      `json:"n"`
	Do   string   `json:"do"`
	Args []string `json:"args"`
}

// Outcome says what came of a Try.
type Outcome struct {
	N   int    `json:"n"`
	Got string `json:"got"`
}

// Serve makes attempts and exits, if this process was started for that. It reads a list of Try from
// its standard input, which must then stay open: when it ends, so does the process.
func Serve() {
	if len(os.Args) != 2 || os.Args[1] != Role {
		return
	}
	os.Exit(serve(os.Stdin, os.NewFile(Outcomes, "outcomes")))
}

func serve(in io.Reader, out *os.File) int {
	unix.CloseOnExec(Outcomes)
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	var tries []Try
	if err != nil || json.Unmarshal(line, &tries) != nil {
		return 2
	}
	go func() {
		io.Copy(io.Discard, r)
		os.Exit(3) // the self-test is gone
	}()
	write := json.NewEncoder(out)
	for _, t := range tries {
		if write.Encode(Outcome{t.N, Make(t.Do, t.Args)}) != nil {
			return 2
		}
	}
	return 0
}
