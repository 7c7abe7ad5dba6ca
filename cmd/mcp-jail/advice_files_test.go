//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"
)

var (
	withNote  = files(map[string]string{"home/notes/a.md": "a note\n"})
	withInput = files(map[string]string{"home/logs/": "", "work/in.txt": "in here\n"})
)

// TestAdviceFiles tests the advice for shells and coreutils that use files outside the
// grants, or write to files that are granted for reading.
func TestAdviceFiles(t *testing.T) {
	checkAdvice(t, []adviceCase{
		{name: "cat", flags: "--write .", before: withNote, script: "cat $W/home/notes/a.md", want: "--read ~/notes/a.md"},
		{name: "ls", flags: "", before: withNote, script: "ls $W/home/notes", want: "--read ~/notes"},
		{name: "dash redirects", flags: "--write .", before: withInput, script: "echo x >$W/home/logs/g", want: "--write ~/logs"},
		{name: "dash appends", rules: readRule("."), before: withInput, script: "echo x >>in.txt", want: `[[access.fs]] path = "in.txt", read, write`},
		{name: "bash appends", flags: "--read .", before: withInput, argv: bash("echo x >>in.txt"), want: "--write in.txt"},
		{name: "bash noclobber", rules: readRule("."), before: withInput, argv: bash("set -C; echo x >g"), want: `[[access.fs]] path = ".", read, write`},
		{name: "cp", flags: "--write .", before: withInput, script: "cp in.txt $W/home/logs/out.txt", want: "--write ~/logs"},
		{name: "mv", rules: writeRule("."), before: withInput, script: "mv in.txt $W/home/logs/out.txt", want: `[[access.fs]] path = "~/logs", read, write`},
		{name: "rm", rules: readRule("."), before: withInput, script: "rm in.txt", want: `[[access.fs]] path = ".", read, write`},

		{name: "touch", rules: writeRule("."), before: withInput, script: "touch $W/home/logs/t", want: `[[access.fs]] path = "~/logs", read, write`},
		{name: "ln -s", rules: readRule("."), before: withInput, script: "ln -s in.txt l", want: `[[access.fs]] path = ".", read, write`},
		{name: "tar extracts", rules: readRule("."), before: func(t *testing.T, w *world) {
			withInput(t, w)
			must(t, w.plain("tar", "-cf", "t.tar", "in.txt").Run())
		}, script: "tar -xf t.tar --transform s,in,out,", want: `[[access.fs]] path = ".", read, write`},
		{name: "a link out of the workspace", flags: "", before: func(t *testing.T, w *world) {
			withNote(t, w)
			must(t, os.Symlink(filepath.Join(w.home, "notes"), filepath.Join(w.work, "notes")))
		}, script: "cat notes/a.md", want: "--read ~/notes/a.md"},
		{name: "mkdir -p", flags: "--read .", before: withInput, script: "mkdir -p made && echo x >made/f", want: "--write made/"},
		{name: "a script, rules", rules: writeRule("."), before: program("run.sh", "#!/bin/sh\necho ran\n"), script: "./run.sh", want: `[[access.fs]] path = "run.sh", read, execute`},
		{name: "chmod", rules: readRule("."), before: withInput, script: "chmod 600 in.txt", want: `[[access.fs]] path = "in.txt", read, write`},
		{name: "rmdir", rules: readRule("."), before: files(map[string]string{"work/d/": ""}), script: "rmdir d", want: `[[access.fs]] path = ".", read, write`},
		{name: "sh env", rules: writeRule("."), before: func(t *testing.T, w *world) { w.env = append(w.env, "NOTES_DIR=notes") }, script: `echo "${NOTES_DIR:?is not set}"`, want: `[[access.env]] name = "NOTES_DIR", read`},
		{name: "cd", flags: "--write .", before: withNote, script: "cd $W/home/notes && ls", want: "--read ~/notes"},
		{name: "sed -i", rules: readRule("."), before: withInput, script: "sed -i s/in/out/ in.txt", want: `[[access.fs]] path = ".", read, write`},
		{name: "a program that is not listed", rules: writeRule(".") + "[access.commands.sh]\n[access.commands.\"/usr/bin/python3\"]\n", before: withInput, script: "wc -l in.txt", want: `[access.commands.wc]`},
		{name: "a socket", rules: writeRule("."), before: withSocket, argv: python(`import socket; socket.socket(socket.AF_UNIX).connect("$W/home/run/s")`), want: `[[access.fs]] path = "~/run/s", read, write`},
		{name: "a socket in the workspace", flags: "", before: withSocket, argv: python(`import socket; socket.socket(socket.AF_UNIX).connect("s")`), want: `--write s`},
		{name: "a socket in the writable workspace", rules: writeRule("."), before: withSocket, argv: python(`import socket; socket.socket(socket.AF_UNIX).connect("s")`), want: `[[access.fs]] path = "s", read, write`},
		{name: "a script", flags: "--write .", before: program("run.sh", "#!/bin/sh\necho ran\n"), script: "./run.sh", want: "--execute run.sh"},
		{name: "a program of one's own", flags: "--write .", before: withProgramAtHome, script: "$W/home/bin/mine", want: "--execute ~/bin/mine"},
	})
}
