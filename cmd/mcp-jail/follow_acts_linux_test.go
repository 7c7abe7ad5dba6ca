package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// form is one way to write a policy.
type form struct {
	name  string
	flags bool   // text is flags of a command after --; else the tables of a configuration
	text  string // "[it" is "[servers.NAME"
	ends  map[string]string
}

const (
	here     = "[[it.access.fs]]\npath = \".\"\nread = true\n"
	writable = here + "write = true\n"
	inline   = "{ path = \".\", read = true }"
	toolHere = "[[it.tools.act.access.fs]]\npath = \".\"\nread = true\n"
)

var (
	denied = map[string]string{"sub-": "(?i)leave out .*sub|unable to open"}
)

var forms = []form{
	{name: "default", flags: true},
	{name: "flag-read", flags: true, text: "--read ."},
	{name: "flag-write", flags: true, text: "--write ."},
	{name: "flag-narrower", flags: true, text: "--write . --read sub"},
	{name: "flag-deny", flags: true, text: "--write . --deny sub", ends: denied},
	{name: "flag-deny-default", flags: true, text: "--deny sub", ends: denied},
	{name: "config-default"},
	{name: "table", text: writable},
	{name: "table-read", text: here},
	{name: "table-write-only", text: "[[it.access.fs]]\npath = \".\"\nwrite = true\n"},
	{name: "table-narrower", text: writable + "[[it.access.fs]]\npath = \"sub\"\ndeny = \"write\"\n", ends: denied},
	{name: "table-nothing", text: writable + "[[it.access.fs]]\npath = \"sub\"\ndeny = true\n", ends: denied},
	{name: "table-create", text: here + "create = true\n"},
	{name: "list", text: "[it.access]\nfs = [" + inline + "]\n"},
	{name: "list-empty", text: "[it.access]\nfs = []\n"},
	{name: "list-nothing", text: "[it.access]\nfs = [{ path = \".\", read = true, write = true }, { path = \"sub\", deny = true }]\n", ends: denied},
	{name: "access", text: "access = { fs = [" + inline + "] }\n"},
	{name: "commands", text: writable + "[it.access.commands.python3]\n[it.access.commands.sh]\n"},
	{name: "commands-read", text: here + "[it.access.commands.python3]\n[it.access.commands.sh]\n"},
	{name: "commands-inline", text: "[it.access]\nfs = [" + inline + "]\ncommands = { python3 = {}, sh = {} }\n"},
	{name: "per-call", text: "stateful = false\n" + toolHere + "write = true\n"},
	{name: "per-call-read", text: "stateful = false\n" + toolHere},
	{name: "per-call-list", text: "stateful = false\n[it.tools.act.access]\nfs = [" + inline + "]\n"},
	{name: "per-call-access", text: "stateful = false\n[it.tools.act]\naccess = { fs = [" + inline + "] }\n"},
	{name: "per-call-tool", text: "stateful = false\n[it.tools]\nact = { access = { fs = [" + inline + "] } }\n"},
	{name: "per-call-any", text: "stateful = false\n" + strings.ReplaceAll(toolHere, ".act.", ".\"*\".")},
	{name: "per-call-default", text: "stateful = false\n"},
}

// made plants a file of the world's workspace or home.
func made(files ...string) func(*testing.T, *world, string) {
	return func(t *testing.T, w *world, name string) {
		t.Helper()
		for _, file := range files {
			w.plant(t, w.base, map[string]string{replaceName(file, name): "text\n"})
		}
	}
}

// program plants a program.
func madeProgram(file, text string) func(*testing.T, *world, string) {
	return func(t *testing.T, w *world, name string) {
		t.Helper()
		made(file)(t, w, name)
		path := filepath.Join(w.base, replaceName(file, name))
		must(t, os.WriteFile(path, []byte(text), 0o755), os.Chmod(path, 0o755))
	}
}

// acts returns what servers do.
func acts() (all []act) {
	for _, place := range []struct{ name, dir string }{{"top", "work"}, {"sub", "work/sub"}, {"out", "home/docs"}, {"own", "home/docs/$N-own"}} {
		rel := "$W/" + place.dir
		file, dir := place.dir+"/$N", place.dir+"/$N/"
		keep := ""
		if place.name == "own" {
			keep = place.dir + "/"
		}
		with := func(files ...string) func(*testing.T, *world, string) {
			if keep != "" {
				files = append(files, keep)
			}
			return made(files...)
		}
		for _, a := range []act{
			{name: "read", args: []string{rel + "/$N"}, before: with(file)},
			{name: "write", args: []string{rel + "/$N"}, before: with(file)},
			{name: "append", args: []string{rel + "/$N"}, before: with(file)},
			{name: "create", args: []string{rel + "/$N"}, before: with()},
			{name: "list", args: []string{rel + "/$N"}, before: with(dir)},
			{name: "mkdir", args: []string{rel + "/$N"}, before: with()},
			{name: "mkdirs", args: []string{rel + "/$N/a/b"}, before: with()},
			{name: "rmdir", args: []string{rel + "/$N"}, before: with(dir)},
			{name: "remove", args: []string{rel + "/$N"}, before: with(file)},
			{name: "rename", args: []string{rel + "/$N", rel + "/$N.new"}, before: with(file)},
			{name: "replace", args: []string{rel + "/$N.json"}, before: with(file + ".json")},
			{name: "link", args: []string{rel + "/$N", rel + "/$N.link"}, before: with(file)},
			{name: "symlink", args: []string{"$N", rel + "/$N.link"}, before: with(file)},
			{name: "truncate", args: []string{rel + "/$N"}, before: with(file)},
			{name: "sqlite", args: []string{rel + "/$N.db"}, before: with()},
			{name: "execpath", args: []string{rel + "/$N.sh"}, before: madeProgram(file+".sh", "#!/bin/sh\necho ran\n")},
		} {
			a.do, a.name = a.name, place.name+"-"+a.name
			all = append(all, a)
		}
	}
	return append(all, []act{
		{name: "exec-name", do: "exec", args: []string{"$N"}, before: madeProgram("home/bin/$N", "#!/bin/sh\necho ran\n")},
		{name: "shell-name", do: "shell", args: []string{"$N"}, before: madeProgram("home/bin/$N", "#!/bin/sh\necho ran\n")},
		{name: "connect", do: "connect", args: []string{"$W/home/run/$N"}, before: func(t *testing.T, w *world, name string) { listen(t, filepath.Join(w.home, "run", name)) }},
		{name: "connect-work", do: "connect", args: []string{"$W/work/$N"}, before: func(t *testing.T, w *world, name string) { listen(t, filepath.Join(w.work, name)) }},
		{name: "connect-sub", do: "connect", args: []string{"$W/work/sub/$N"}, before: func(t *testing.T, w *world, name string) { listen(t, filepath.Join(w.work, "sub", name)) }},
		{name: "dial", do: "dial", args: []string{"$P"}, before: func(t *testing.T, w *world, name string) { w.serve(t, name) }},
		{name: "node-require", do: "run", args: []string{"node", "$W/home/docs/$N/main.js"}, before: func(t *testing.T, w *world, name string) {
			w.plant(t, filepath.Join(w.home, "docs", name), map[string]string{"package.json": "{}\n", "main.js": "require('./lib/part.js')\n", "lib/part.js": "require('../data.json')\n", "data.json": "{}\n"})
		}},
		{name: "python-import", do: "run", args: []string{"/usr/bin/python3", "-B", "$W/home/docs/$N/main.py"}, before: func(t *testing.T, w *world, name string) {
			w.plant(t, filepath.Join(w.home, "docs", name), map[string]string{"main.py": "import part\n", "part.py": "import os\nopen(os.path.join(os.path.dirname(__file__), 'data.txt'))\n", "data.txt": "here\n"})
		}},
		{name: "program-data", do: "run", args: []string{"$W/home/opt/$N/browser"}, before: func(t *testing.T, w *world, name string) {
			madeProgram("home/opt/$N/browser", "#!/bin/sh\ncat \"${0%/*}/icudtl.dat\" >&2 || { echo 'Invalid file descriptor to ICU data received.'; exit 1; }\n")(t, w, name)
			made("home/opt/$N/icudtl.dat", "home/opt/$N/resources.pak")(t, w, name)
		}},
		{name: "env", do: "env", args: []string{"NOTES_DIR"}},
		{name: "missing-dir", do: "create", args: []string{"$W/home/docs/$N/f"}, says: "(?i)no ?such ?file"},
	}...)
}

func replaceName(text, name string) string { return strings.ReplaceAll(text, "$N", name) }
