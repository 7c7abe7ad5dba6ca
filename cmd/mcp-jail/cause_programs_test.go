//go:build linux

package main

import "testing"

// aRepository is the workspace.
func aRepository(t *testing.T, w *world) { repository(t, w, w.work) }

// Languages, databases and version control.
func TestCausePrograms(t *testing.T) {
	causes(t, []cause{
		{name: "python open", flags: "--write .", before: aNote, argv: python(`print(open("$W/home/notes/a.md").read())`), want: "--read ~/notes/a.md"},
		{name: "python write", flags: "--write .", before: anIn, argv: python(`open("$W/home/logs/o", "w").write("x")`), want: "--write ~/logs"},
		{name: "python rename", rules: readRule("."), before: anIn, argv: python(`import os; os.rename("in.txt", "out.txt")`), want: `[[access.fs]] path = ".", read, write`},
		{name: "python replace", rules: readRule("."), before: anIn, argv: python(`
import json, os
tmp = f"in.txt.{os.getpid()}.tmp"
with open(tmp, "w") as f: json.dump({"a": 1}, f)
os.replace(tmp, "in.txt")`), want: `[[access.fs]] path = ".", read, write`},
		{name: "python tempfile", rules: readRule("."), before: anIn, argv: python(`
import tempfile
with tempfile.NamedTemporaryFile("w", dir="$W/work") as f: f.write("x")`), want: `[[access.fs]] path = ".", read, write`},
		{name: "python makedirs", rules: readRule("."), before: anIn, argv: python(`import os; os.makedirs("a/b", exist_ok=True); open("a/b/c", "w")`), want: `[[access.fs]] path = "a/", read, write`},
		{name: "python subprocess", rules: writeRule("."), before: program("run.sh", "#!/bin/sh\necho ran\n"), argv: python(`import subprocess; print(subprocess.check_output(["./run.sh"]))`), want: `[[access.fs]] path = "run.sh", read, write, execute`},
		{name: "python environ", flags: "", before: func(t *testing.T, w *world) { w.env = append(w.env, "NOTES_DIR=notes") }, argv: python(`import os; print(os.environ["NOTES_DIR"])`), want: "--env NOTES_DIR"},
		{name: "node writeFile", needs: []string{"node"}, flags: "--write .", before: anIn, argv: node(`require("fs").writeFileSync("$W/home/logs/o", "x")`), want: "--write ~/logs"},
		{name: "node readFile", needs: []string{"node"}, rules: writeRule("."), before: aNote, argv: node(`console.log(require("fs").readFileSync("$W/home/notes/a.md", "utf8"))`), want: `[[access.fs]] path = "~/notes/a.md", read`},
		{name: "node rename", needs: []string{"node"}, rules: readRule("."), before: anIn, argv: node(`require("fs").renameSync("in.txt", "out.txt")`), want: `[[access.fs]] path = ".", read, write`},
		{name: "node atomic", needs: []string{"node"}, rules: readRule("~/logs"), before: anIn, argv: node(`
const fs = require("fs");
const tmp = "$W/home/logs/m.json." + process.pid + ".tmp";
try { fs.writeFileSync(tmp, "{}"); fs.renameSync(tmp, "$W/home/logs/m.json"); }
catch (e) { try { fs.unlinkSync(tmp) } catch {} throw e; }`), want: `[[access.fs]] path = "~/logs", read, write`},
		{name: "node mkdir recursive", needs: []string{"node"}, flags: "--read .", before: anIn, argv: node(`require("fs").mkdirSync("a/b", { recursive: true }); require("fs").writeFileSync("a/b/c", "x")`), want: "--write a/"},
		{name: "node spawn", needs: []string{"node"}, rules: writeRule("."), before: program("run.sh", "#!/bin/sh\necho ran\n"), argv: node(`require("child_process").spawn("./run.sh", { stdio: "inherit" }).on("exit", process.exit)`), want: `[[access.fs]] path = "run.sh", read, write, execute`},
		{name: "sqlite3 new", needs: []string{"sqlite3"}, flags: "--write .", before: anIn, argv: []string{"sqlite3", "$W/home/logs/n.db", "create table t (x)"}, want: "--write ~/logs"},
		{name: "git commit", needs: []string{"git"}, flags: "--read .", before: aRepository, script: "git commit -q --allow-empty -m x", want: "--write .git"},
		{name: "git add", needs: []string{"git"}, rules: readRule("."), before: func(t *testing.T, w *world) { aRepository(t, w); w.plant(t, w.work, map[string]string{"b": "b"}) }, script: "git add b", want: `[[access.fs]] path = ".git", read, write`},
		{name: "git hook", needs: []string{"git"}, rules: writeRule("."), before: func(t *testing.T, w *world) {
			aRepository(t, w)
			program(".git/hooks/pre-commit", "#!/bin/sh\necho ran\n")(t, w)
		}, script: "git commit -q --allow-empty -m x", want: `[[access.fs]] path = ".git/hooks/pre-commit", read, execute`},
	})
}
