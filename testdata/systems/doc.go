// Command systems is what run.sh beside it needs to try mcp-jail on a runner of any system: it makes
// attacks from inside a jail and without one, and judges what other commands print.
//
//	systems attacks MCP-JAIL [FLAG...]    # each attack: outside it must succeed, inside it must fail
//	systems probes  <doctor.json          # each probe of the self-test must have passed
//	systems skipped <test.json            # no test may have been skipped: go test -json
//
// The first prints a table and fails if an attack succeeds inside, and also if it fails outside:
// such a row shows nothing. The rows are those of docs/attack-matrix.md that need nothing of Linux. On
// Windows they are about what is held there: processes, memory, the token, and variables.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		serve(os.Args[2])
		return
	}
	if len(os.Args) >= 2 && os.Args[1] == "part" { // of an attack that takes more than one process
		part(os.Args[2:])
		return
	}
	err := fmt.Errorf("usage: systems attacks MCP-JAIL [FLAG...] | systems probes | systems skipped")
	switch {
	case len(os.Args) >= 3 && os.Args[1] == "attacks":
		err = attacks(os.Args[2], os.Args[3:])
	case len(os.Args) == 2 && os.Args[1] == "probes":
		err = probes(os.Stdin, os.Stdout)
	case len(os.Args) == 2 && os.Args[1] == "skipped":
		err = skipped(os.Stdin, os.Stdout)
	}
	if err != nil {
		io.WriteString(os.Stderr, "systems: "+err.Error()+"\n")
		os.Exit(1)
	}
}
