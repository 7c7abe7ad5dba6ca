package resolve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestNamedLinks: the links by which the client names what is granted are in the jail, and no others.
func TestNamedLinks(t *testing.T) {
	const files = `d /disk/code/proj/sub
		d /disk/data
		d /disk/other
		f /disk/code/proj/x.txt
		l /home/u/code /disk/code
		l /home/u/data /disk/data
		l /home/u/out /disk/other
		l /home/u/self /home/u/code/proj
		l /disk/code/proj/away /disk/other
		l /disk/code/proj/near sub`
	const code = "/home/u/code -> /disk/code"
	for name, c := range map[string]struct {
		args, pwd, env string
		want           []string
	}{
		"argument":            {args: "/home/u/code/proj", want: []string{code}},
		"file":                {args: "/home/u/code/proj/x.txt", want: []string{code}},
		"not there yet":       {args: "/home/u/code/proj/new/y.txt", want: []string{code}},
		"option":              {args: "--root=/home/u/code/proj", want: []string{code}},
		"two links":           {args: "/home/u/self/x.txt", want: []string{code, "/home/u/self -> /home/u/code/proj"}},
		"PWD":                 {pwd: "/home/u/code/proj", want: []string{code}},
		"PWD of another":      {pwd: "/home/u/data"},
		"PWD of nothing":      {pwd: "code/proj"},
		"granted variable":    {env: "/home/u/code/proj", want: []string{code}},
		"another rule":        {args: "/home/u/data/x", want: []string{"/home/u/data -> /disk/data"}},
		"not granted":         {args: "/home/u/out/x"},
		"the canonical name":  {args: "/disk/code/proj", pwd: "/disk/code/proj"},
		"planted, leads out":  {args: "/disk/code/proj/away/x"},
		"planted, leads back": {args: "/disk/code/proj/near/x"},
	} {
		args := ""
		if c.args != "" {
			args = fmt.Sprintf("arguments = [%q]\n", c.args)
		}
		p, _ := mustResolve(t, newFake(aSystem, files), aServer+args+"variables = [\"ROOT\"]\n"+fsTables(".:rw", "/disk/data:r"), func(h *hostfs.Host) {
			h.Dir = "/disk/code/proj"
			h.Environ = append(h.Environ, "PWD="+c.pwd, "ROOT="+c.env, "OTHER=/home/u/data")
		})
		var got []string
		for _, l := range p.Links {
			if strings.HasPrefix(l.Path, "/home/") || strings.HasPrefix(l.Path, "/disk/") {
				got = append(got, l.Path+" -> "+l.Target)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if p.Workspace != "/disk/code/proj" || p.RightsAt("/disk/other/x") != 0 {
			t.Errorf("%s: the links change what is granted: %s", name, printProfile(p))
		}
	}
}
