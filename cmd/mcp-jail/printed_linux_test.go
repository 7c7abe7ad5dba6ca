package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// grantable are commands that fail in the jail until the user runs the line that the answer prints. HOME is the user's, and
// BASE a directory outside of it.
var grantable = []struct{ name, script string }{
	{"a file", "cat HOME/one.txt"},
	{"a blank in its name", "cat 'HOME/two words.txt'"},
	{"a quote in its name", `cat "HOME/it's.txt"`},
	{"letters of another alphabet", "cat HOME/grün.txt"},
	{"a comma in its name", "cat HOME/a,b.txt"},
	{"a file in a folder", "cat HOME/read/deep/er.txt"},
	{"a folder", "ls HOME/list"},
	{"a folder outside of HOME", "ls BASE/list"},
	{"a file outside of HOME", "cat BASE/out.txt"},
	{"by python", `python3 -c "open('HOME/py.txt').read()"`},
	{"that is missing there", "test -f HOME/probed.txt || { echo 'HOME/probed.txt: No such file or directory'; exit 1; }"},
	{"a link", "cat HOME/link.txt"},
	{"a program", "HOME/tools/run.sh"},
	{"a script", "sh HOME/scripts/run.sh"},
	{"its configuration", "cat HOME/.config/thing/settings.json"},
	{"to change a file", "echo x >>HOME/change.txt"},
	{"to make a file", "echo x >HOME/make/new.txt"},
	{"to make a folder", "mkdir HOME/folders/new || test -d HOME/folders/new"},
	{"to remove a file", "rm HOME/remove/old.txt"},
	{"to move a file", "mv HOME/move/a.txt HOME/move/b.txt"},
	{"to make a link", "ln -s a HOME/links/b"},
	{"to cut a file", "truncate -s 0 HOME/cut.txt"},
	{"to write outside of HOME", "echo x >BASE/write/new.txt"},
	{"to write by python", `python3 -c "open('HOME/pywrite/x.txt', 'w').write('x')"`},
	{"a temporary file and a move", "echo x >HOME/atomic/f.tmp && mv HOME/atomic/f.tmp HOME/atomic/f"},
	{"a variable", `test -n "$THING_DIR" || { echo 'THING_DIR is not set'; exit 1; }`},
	{"a variable of python", `python3 -c "import os; os.environ['THING_MODE']"`},
	{"a socket", `python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('HOME/s.sock')"`},
	{"a port", `python3 -c "import socket; socket.create_connection(('127.0.0.1', PORT))"`},
	{"two files", "cat HOME/both/a.txt BASE/both/b.txt"},
}

// TestPrintedCommandsRun: the line that an answer prints is typed in a terminal with another directory and PATH than the
// client's, and the same call works in the session that runs.
func TestPrintedCommandsRun(t *testing.T) {
	need(t, "/usr/bin/python3")
	t.Parallel()
	files := map[string]string{}
	for _, name := range []string{"one.txt", "two words.txt", "it's.txt", "grün.txt", "a,b.txt", "read/deep/er.txt", "list/x", "py.txt", "probed.txt", "linked/x.txt", ".config/thing/settings.json", "change.txt",
		"make/x", "folders/x", "remove/old.txt", "move/a.txt", "links/a", "cut.txt", "pywrite/old", "atomic/old", "both/a.txt", "../base/list/x", "../base/out.txt", "../base/write/x", "../base/both/b.txt"} {
		files[name] = "x\n"
	}
	files["tools/run.sh"], files["scripts/run.sh"] = "#!/bin/sh\necho ran\n", "#!/bin/sh\necho ran\n"
	words := []string{installed(t, execServer)}
	p := newPupil(t, files, words...)
	must(t, os.Chmod(filepath.Join(p.home, "tools/run.sh"), 0o755))
	must(t, os.Symlink("linked/x.txt", filepath.Join(p.home, "link.txt")))
	socket, err := net.Listen("unix", filepath.Join(p.home, "s.sock"))
	must(t, err)
	defer socket.Close()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer port.Close()
	fill := strings.NewReplacer("HOME", p.home, "BASE", filepath.Join(p.home, "../base"), "PORT", fmt.Sprint(port.Addr().(*net.TCPAddr).Port))

	env := append(os.Environ(), "HOME="+p.home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_DATA_HOME=", "XDG_CACHE_HOME=", "COLUMNS=1000", "TERM=dumb")
	begin := func() *clientSession {
		client := exec.Command("mcp-jail", append([]string{"run", "--id", pupilID, "--"}, words...)...)
		client.Dir, client.Env = p.work, append(slices.Clip(env), "THING_DIR=/x", "THING_MODE=m", "PATH="+os.Getenv("PATH")+":"+p.home)
		return open(t, client, nil)
	}
	s := begin()
	defer func() { s.close() }()
	command := regexp.MustCompile(`(?m)^  (mcp-jail \S.*)$`)
	for i, c := range grantable {
		if i%16 == 15 { // a session starts its server anew 20 times at most
			s.close()
			s = begin()
		}
		t.Run(c.name, func(t *testing.T) {
			out, worked := s.run("sh", "-c", fill.Replace(c.script))
			if worked {
				t.Fatalf("it worked before: %s", out)
			}
			typed := command.FindStringSubmatch(out)
			if typed == nil {
				t.Fatalf("no command in %s", out)
			}
			shell := exec.Command("tty", "-columns", "1000", "-after", "[y/N]", "-type", `y\n`, "-after", "[y/N]", "-type", `y\n`, "sh", "-c", typed[1])
			shell.Dir, shell.Env = "/", append(env, "PATH="+filepath.Dir(shell.Path)+":/usr/bin:/bin")
			said, err := shell.CombinedOutput()
			if err != nil || strings.Contains(string(said), "already") {
				t.Errorf("%s: %v\n%s", typed[1], err, said)
			}
			if again, worked := s.run("sh", "-c", fill.Replace(c.script)); !worked {
				t.Errorf("it said %s\nthen %s:\n%s\nand then %s", out, typed[1], said, again)
			}
		})
	}
}
