package catalog

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestNotCacheable: programs whose code is at an unknown place have no fingerprint.
func TestNotCacheable(t *testing.T) {
	t.Parallel()
	many := packaged("opt/app/")
	for i := range maxScanFiles {
		many = append(many, fmt.Sprintf("opt/app/gen/%d", i))
	}
	node := append(packaged("opt/app/"), "bin/node !")
	for name, row := range map[string]struct {
		files   []string
		command []string
		env     string
		want    string // "" is cacheable: the control
	}{
		"a package":                  {node, []string{"node", "ROOT/opt/app/dist/index.js"}, "", ""},
		"too many files":             {append(many, "bin/node !"), []string{"node", "ROOT/opt/app/dist/index.js"}, "", "more than 4096 files"},
		"a shell":                    {nil, []string{"sh", "-c", "server"}, "", "an unknown place"},
		"a shell script":             {[]string{"bin/server = #!/bin/sh"}, []string{"server"}, "", "an unknown place"},
		"a container":                {[]string{"bin/docker !"}, []string{"docker", "run", "x"}, "", "an unknown place"},
		"another language":           {[]string{"bin/ruby3.1 !"}, []string{"ruby3.1", "x.rb"}, "", "an unknown place"},
		"inline code":                {node, []string{"node", "-e", "1"}, "", "adds code"},
		"inline code behind env":     {append(node, "bin/env !"), []string{"env", "A=1", "node", "-e", "1"}, "", "adds code"},
		"the script's own -e":        {node, []string{"node", "ROOT/opt/app/dist/index.js", "-e", "1"}, "", ""},
		"inline Python":              {[]string{"bin/python3 !"}, []string{"python3", "-c", "1"}, "", "adds code"},
		"classes":                    {[]string{"bin/java !", "opt/a.jar"}, []string{"java", "-cp", "ROOT/opt/a.jar", "-jar", "x"}, "", "adds code"},
		"a variable that loads":      {[]string{"bin/server !"}, []string{"server"}, "NODE_OPTIONS=--import=x", "NODE_OPTIONS"},
		"a variable that does not":   {[]string{"bin/server !"}, []string{"server"}, "DEBUG=1", ""},
		"editable":                   {[]string{"opt/py/bin/python3 !", "opt/py/lib/python3.11/site-packages/__editable___x_finder.py", "opt/s.py"}, []string{"ROOT/opt/py/bin/python3", "ROOT/opt/s.py"}, "", "elsewhere"},
		"a path file of a megabyte":  {[]string{"opt/py/bin/python3 !", "opt/py/lib/python3.11/site-packages/x.pth = " + strings.Repeat("x", 1<<20), "opt/s.py"}, []string{"ROOT/opt/py/bin/python3", "ROOT/opt/s.py"}, "", "not a small file"},
		"a site-packages without it": {[]string{"opt/py/bin/python3 !", "opt/py/lib/python3.11/site-packages/x.py", "opt/s.py"}, []string{"ROOT/opt/py/bin/python3", "ROOT/opt/s.py"}, "", ""},
	} {
		s := newSite(t, row.files...)
		if row.env != "" {
			s.env = []string{row.env}
		}
		f, err := Fingerprint(s.profile(row.command...))
		switch {
		case row.want == "" && (err != nil || len(f) != 64):
			t.Errorf("%s: %q, %v", name, f, err)
		case row.want != "" && (!errors.Is(err, ErrNotCacheable) || !strings.Contains(err.Error(), row.want) || f != ""):
			t.Errorf("%s: %q, %v, want %q", name, f, err, row.want)
		}
	}
	s := newSite(t, "bin/server !")
	p := s.profile("server")
	if err := os.Remove(s.root + "/bin/server"); err != nil {
		t.Fatal(err)
	}
	if _, err := Fingerprint(p); !errors.Is(err, ErrNotCacheable) {
		t.Errorf("a program that is gone: %v", err)
	}
}
