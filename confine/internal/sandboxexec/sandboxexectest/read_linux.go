//go:build seatbelt

package sandboxexectest

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt/seatbelttest"
)

// read reads the profile. It returns an error if that is not in the language that mcp-jail uses, in
// either form.
func read(text string, params []string) error {
	t := seatbelt.Text{Profile: text, Params: params}
	err := seatbelt.Lint(t, seatbelt.Conditional)
	if err != nil && seatbelt.Lint(t, seatbelt.Layered) != nil {
		return err
	}
	_, err = seatbelttest.Read(text, params)
	return err
}
