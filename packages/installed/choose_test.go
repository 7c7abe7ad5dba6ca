package installed

import (
	"errors"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/npm"
)

func TestChoose(t *testing.T) {
	found := Found{Language: Node, Interpreters: []Interpreter{
		{Path: "/usr/bin/node", Version: "20.20.2", Sources: []string{"PATH"}, Default: true},
		{Path: "/h/9", Version: "9.1.0"}, {Path: "/h/22", Version: "22.1.0"}, {Path: "/h/24", Version: "24.10.0"},
		{Path: "/h/24.9", Version: "24.9.0"}, {Path: "/h/25", Version: "25.0.0-nightly1"},
	}}
	for _, c := range testkit.Table[struct{ name, rng, want string }](t, "choose.txt") {
		got, err := found.Choose(c.rng, npm.EngineFits)
		if got.Path != c.want || err != nil {
			t.Errorf("%s: %s, %v", c.name, got.Path, err)
		}
	}
	testkit.Fails(t, "", testkit.ErrorOf(found.Choose("latest", npm.EngineFits)), `the range "latest" cannot be read`)
}

func TestChooseReleaseBeforeNightly(t *testing.T) {
	for _, order := range [][2]string{{"24.0.0", "24.0.0-nightly1"}, {"24.0.0-nightly1", "24.0.0"}} {
		found := Found{Interpreters: []Interpreter{{Version: order[0]}, {Version: order[1]}}}
		if got, err := found.Choose("", nil); got.Version != "24.0.0" || err != nil {
			t.Error(order, got, err)
		}
	}
}

func TestMissingInWords(t *testing.T) {
	pythons := []Interpreter{{Path: "/usr/bin/python3", Version: "3.11.2", Sources: []string{"PATH"}}, {Path: "/h/3.9/python3", Version: "3.9.1", Sources: []string{"pyenv", "PATH"}}}
	refused := []refusal{{"/w/node", "the server \"a\" may write to /w (--write /w)", nil}}
	for want, found := range map[string]Found{
		"the package needs Python ^99, and what is here does not fit: 3.11.2 (/usr/bin/python3, from PATH), 3.9.1 (/h/3.9/python3, from pyenv and PATH); install a version that fits":       {Language: Python, Interpreters: pythons},
		"the package needs Node.js ^99, and there is none in PATH or of a version manager; /w/node is not used: the server \"a\" may write to /w (--write /w); install a version that fits": {Language: Node, Refused: refused},
	} {
		_, err := found.Choose("^99", npm.EngineFits)
		var missing *MissingError
		if !errors.As(err, &missing) || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}
