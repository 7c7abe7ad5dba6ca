//go:build darwin || (linux && seatbelt)

package tlsworker

import (
	"errors"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
)

// compileText returns the rules under which sandbox-exec starts the program.
var compileText = func(program string) (seatbelt.Text, error) {
	return seatbelt.Text{}, errors.New("no profile can be compiled for macOS yet")
}
