package winpath

import (
	"errors"
	"strings"
	"testing"
)

// TestSpelled: every spelling of a directory becomes the one that the drive has, also if the end of the
// path does not exist.
func TestSpelled(t *testing.T) {
	dirs := []string{`C:\`, `C:\Users`, `C:\Users\Zoë Doe`, `\\nas\Share\Me`}
	asked := 0
	real := func(path string) (string, error) {
		if asked++; asked > 1000 {
			t.Fatal("it does not end")
		}
		long := strings.ReplaceAll(strings.ToLower(path), "zodoe~1", "zoë doe")
		for _, d := range dirs {
			if strings.EqualFold(d, long) {
				return d, nil
			}
		}
		return "", errors.New("there is none")
	}
	for path, want := range map[string]string{
		`c:\users\ZOË DOE`: `C:\Users\Zoë Doe`, `C:/Users/zoë doe/`: `C:\Users\Zoë Doe`, `C:\Users\x\..\Zoë Doe`: `C:\Users\Zoë Doe`, `c:\users\ZODOE~1`: `C:\Users\Zoë Doe`,
		`c:\users\ZODOE~1\New\.mcp-jail.toml`: `C:\Users\Zoë Doe\New\.mcp-jail.toml`, `c:/USERS/New`: `C:\Users\New`, `c:\`: `C:\`, `c:\New`: `C:\New`,
		`d:/x`: `D:\x`, `\\NAS\share\me\x`: `\\nas\Share\Me\x`, `\\other\x`: `\\other\x`, `x`: `x`, ``: ``, `\`: `\`,
	} {
		if got := Spelled(path, real); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
		asked = 0
	}
}
