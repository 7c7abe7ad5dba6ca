package runline

import (
	"errors"
	"strings"
	"testing"
)

// TestOuter: the words before a launcher stay in front of the program, and the line after them is
// taken apart as without them.
func TestOuter(t *testing.T) {
	for line, want := range map[string]struct{ outer, dir, unset, env string }{
		"timeout 30 npx -y pkg a -b":                          {outer: "timeout 30"},
		"timeout -k 5 -s KILL --foreground 1.5h npx pkg a -b": {outer: "timeout -k 5 -s KILL --foreground 1.5h"},
		"timeout -k5 --signal=9 -v 30s -- npx pkg":            {outer: "!"},
		"timeout -- 30 npx pkg a -b":                          {outer: "timeout -- 30"},
		"nice npx pkg a -b":                                   {outer: "nice"},
		"nice -n 5 npx pkg a -b":                              {outer: "nice -n 5"},
		"nice -n5 npx pkg a -b":                               {outer: "nice -n5"},
		"nice -10 npx pkg a -b":                               {outer: "nice -10"},
		"nice --adjustment=3 npx pkg a -b":                    {outer: "nice --adjustment=3"},
		"nohup npx pkg a -b":                                  {outer: "nohup"},
		"/usr/bin/nohup npx pkg a -b":                         {outer: "/usr/bin/nohup"},
		"stdbuf -oL -e 0 --input=0 npx pkg a -b":              {outer: "stdbuf -oL -e 0 --input=0"},
		"ionice -c 3 npx pkg a -b":                            {outer: "ionice -c 3"},
		"ionice -c2 -n7 -t npx pkg a -b":                      {outer: "ionice -c2 -n7 -t"},
		"taskset -c 0,2-3 npx pkg a -b":                       {outer: "taskset -c 0,2-3"},
		"time -p npx pkg a -b":                                {outer: "time -p"},
		"nohup nice -n 5 timeout 30 npx pkg a -b":             {outer: "nohup nice -n 5 timeout 30"},
		"env A=b npx pkg a -b":                                {env: "A=b"},
		"env -i A=b npx pkg a -b":                             {env: "A=b"},
		"env - A=b npx pkg a -b":                              {env: "A=b"},
		"env -v A=b npx pkg a -b":                             {env: "A=b"},
		"env -- A=b npx pkg a -b":                             {env: "A=b"},
		"env -C /d npx pkg a -b":                              {outer: "env -C /d", dir: "/d"},
		"env -C/d npx pkg a -b":                               {outer: "env -C /d", dir: "/d"},
		"env --chdir=/d A=b npx pkg a -b":                     {outer: "env -C /d A=b", dir: "/d", env: "A=b"},
		"env -C /d env --chdir e npx pkg a -b":                {outer: "env -C /d env -C e", dir: "/d/e"},
		"env -u X --unset=Y -uZ A=b npx pkg a -b":             {outer: "env -u X -u Y -u Z A=b", unset: "X Y Z", env: "A=b"},
		"env -S «npx pkg a» -b":                               {},
		"env «-Snpx pkg a» -b":                                {},
		"env --split-string «-C /d A=b npx pkg 'a'» -b":       {outer: "env -C /d A=b", dir: "/d", env: "A=b"},
		"env -iS «A=b npx 'pkg' a» -b":                        {env: "A=b"},
		"env -vS «A=b timeout 5 npx pkg a -b»":                {outer: "timeout 5", env: "A=b"},
		"timeout 30 env A=b npx pkg a -b":                     {outer: "timeout 30", env: "A=b"},
		"timeout 30 sh -c «A=b exec npx pkg a -b»":            {outer: "timeout 30", env: "A=b"},
		"sh -c «exec timeout 30 npx pkg a -b»":                {outer: "timeout 30"},
		"timeout 30 uvx pkg a -b":                             {outer: "timeout 30"},
		"nice node /usr/lib/npm/bin/npx-cli.js pkg a -b":      {outer: "nice"},
	} {
		l, err := Parse(wordsOf(line))
		if want.outer == "!" {
			var unknown *NotUnderstoodError
			if !errors.As(err, &unknown) && !errors.Is(err, ErrNotLauncher) {
				t.Errorf("%s: %v, %+v", line, err, l)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		var env []string
		for _, a := range l.Env {
			env = append(env, a.Name+"="+a.Value)
		}
		got := struct{ outer, dir, unset, env string }{strings.Join(l.Outer, " "), l.Dir, strings.Join(l.Unset, " "), strings.Join(env, " ")}
		if got != want || l.Packages[0].Name != "pkg" || strings.Join(l.Args, " ") != "a -b" {
			t.Errorf("%s: %+v, %s with %q, want %+v", line, got, l.Packages[0].Name, l.Args, want)
		}
		bare, _ := Parse([]string{string(l.Launcher), "pkg"})
		if l.Key("/w") != bare.Key("/w") || l.Wanted("/w") != bare.Wanted("/w") {
			t.Errorf("%s: %s has another pin than %s", line, l.Key("/w"), bare.Key("/w"))
		}
	}
}
