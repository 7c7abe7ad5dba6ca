//go:build linux

package main

import "testing"

// TestAdvicePrograms tests the advice for languages, databases and version control.
func TestAdvicePrograms(t *testing.T) {
	checkAdvice(t, []adviceCase{
		{name: "python open", flags: "--write .", before: withNote, argv: python(`print(open("$W/home/notes/a.md").read())`), want: "--read ~/notes/a.md"},
		{name: "python write", flags: "--write .", before: withInput, argv: python(`open("$W/home/logs/o", "w").write("x")`), want: "--write ~/logs"},
		{name: "python rename", rules: readRule("."), before: withInput, argv: python(`import os; os.rename("in.txt", "out.txt")`), want: `[[access.fs]] path = ".", read, write`},
		{name: "python replace", rules: readRule("."), before: withInput, argv: python(`
import json, os
tmp = f"in.txt.{os.getpid()}.tmp"
with open(tmp, "w") as f: json.dump({"a": 1}, f)
os.replace(tmp, "in.txt")`), want: `[[access.fs]] path = ".", read, write`},
		{name: "python tempfile", rules: readRule("."), before: withInput, argv: python(`
import tempfile
with tempfile.NamedTemporaryFile("w", dir="$W/work") as f: f.write("x")`), want: `[[access.fs]] path = ".", read, write`},
		{name: "python makedirs", rules: readRule("."), before: withInput, argv: python(`import os; os.makedirs("a/b", exist_ok=True); open("a/b/c", "w")`), want: `[[access.fs]] path = "a/", read, write`},
		{name: "python subprocess", rules: writeRule("."), before: program("run.sh", "#!/bin/sh\necho ran\n"), argv: python(`import subprocess; print(subprocess.check_output(["./run.sh"]))`), want: `[[access.fs]] path = "run.sh", read, execute`},
		{name: "python environ", flags: "", before: func(t *testing.T, w *world) { w.env = append(w.env, "NOTES_DIR=notes") }, argv: python(`import os; print(os.environ["NOTES_DIR"])`), want: "--env NOTES_DIR"},
		{name: "node writeFile", needs: []string{"node"}, flags: "--write .", before: withInput, argv: node(`require("fs").writeFileSync("$W/home/logs/o", "x")`), want: "--write ~/logs"},
		{name: "node readFile", needs: []string{"node"}, rules: writeRule("."), before: withNote, argv: node(`console.log(require("fs").readFileSync("$W/home/notes/a.md", "utf8"))`), want: `[[access.fs]] path = "~/notes/a.md", read`},
		{name: "node rename", needs: []string{"node"}, rules: readRule("."), before: withInput, argv: node(`require("fs").renameSync("in.txt", "out.txt")`), want: `[[access.fs]] path = ".", read, write`},
		{name: "node atomic", needs: []string{"node"}, rules: readRule("~/logs"), before: withInput, argv: node(`
const fs = require("fs");
const tmp = "$W/home/logs/m.json." + process.pid + ".tmp";
try { fs.writeFileSync(tmp, "{}"); fs.renameSync(tmp, "$W/home/logs/m.json"); }
catch (e) { try { fs.unlinkSync(tmp) } catch {} throw e; }`), want: `[[access.fs]] path = "~/logs", read, write`},
		{name: "node mkdir recursive", needs: []string{"node"}, flags: "--read .", before: withInput, argv: node(`require("fs").mkdirSync("a/b", { recursive: true }); require("fs").writeFileSync("a/b/c", "x")`), want: "--write a/"},
		{name: "node spawn", needs: []string{"node"}, rules: writeRule("."), before: program("run.sh", "#!/bin/sh\necho ran\n"), argv: node(`require("child_process").spawn("./run.sh", { stdio: "inherit" }).on("exit", process.exit)`), want: `[[access.fs]] path = "run.sh", read, execute`},
		{name: "sqlite3 new", needs: []string{"sqlite3"}, flags: "--write .", before: withInput, argv: []string{"sqlite3", "$W/home/logs/n.db", "create table t (x)"}, want: "--write ~/logs"},
		{name: "git commit", needs: []string{"git"}, flags: "--read .", before: withRepository, script: "git commit -q --allow-empty -m x", want: "--write .git"},
		{name: "git add", needs: []string{"git"}, rules: readRule("."), before: func(t *testing.T, w *world) { withRepository(t, w); w.plant(t, w.work, map[string]string{"b": "b"}) }, script: "git add b", want: `[[access.fs]] path = ".git", read, write`},
		{name: "git hook", needs: []string{"git"}, rules: writeRule("."), before: func(t *testing.T, w *world) {
			withRepository(t, w)
			program(".git/hooks/pre-commit", "#!/bin/sh\necho ran\n")(t, w)
		}, script: "git commit -q --allow-empty -m x", want: `[[access.fs]] path = ".git/hooks/pre-commit", read, execute`},
		{name: "python sqlite3 unable", needs: []string{"sqlite3"}, flags: "--write .", before: withDatabase, argv: python(`
import sqlite3
sqlite3.connect("$W/home/data/t.db").execute("insert into t values (1)").connection.commit()`), want: `--write ~/data`},
		{name: "git below its repository", needs: []string{"git"}, flags: "--write $W/home/repo/sub", before: withNestedDirectory, argv: []string{"git", "-C", "$W/home/repo/sub", "status"}, want: "--read ~/repo"},
		{name: "git in a part of its repository", needs: []string{"git"}, flags: "--workspace $W/home/repo/sub", before: withNestedDirectory, script: "cd $W/home/repo/sub; git log", want: "--workspace ~/repo"},
		{name: "sqlite3 wal", needs: []string{"sqlite3"}, rules: writeRule("~/data/t.db"), before: withDatabase, argv: []string{"sqlite3", "-bail", "$W/home/data/t.db", "pragma journal_mode = wal; insert into t values (1)"}, want: `[[access.fs]] path = "~/data", read, write`},
		{name: "sqlite3 file only", needs: []string{"sqlite3"}, rules: writeRule("~/data/t.db"), before: withDatabase, argv: []string{"sqlite3", "$W/home/data/t.db", "insert into t values (1)"}, want: `[[access.fs]] path = "~/data", read, write`},
		{name: "sqlite3 unable", needs: []string{"sqlite3"}, flags: "", before: withDatabase, argv: []string{"sqlite3", "$W/home/data/t.db", "insert into t values (1)"}, want: "--write ~/data"},
		{name: "sqlite3 readonly", needs: []string{"sqlite3"}, flags: "--read $W/home/data", before: withDatabase, argv: []string{"sqlite3", "$W/home/data/t.db", "insert into t values (1)"}, want: "--write ~/data"},
		{name: "python sqlite3", needs: []string{"sqlite3"}, rules: readRule("~/data"), before: withDatabase, argv: python(`
import sqlite3
c = sqlite3.connect("$W/home/data/t.db")
c.execute("insert into t values (1)"); c.commit()`), want: `[[access.fs]] path = "~/data", read, write`},
		{name: "node wants a variable", needs: []string{"node"}, flags: "", before: func(t *testing.T, w *world) { w.env = append(w.env, "NOTES_TOKEN=notes") }, argv: node(`if (!process.env.NOTES_TOKEN) throw new Error("NOTES_TOKEN environment variable is required")`), want: "--env NOTES_TOKEN"},
	})
}
