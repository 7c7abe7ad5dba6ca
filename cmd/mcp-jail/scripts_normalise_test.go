package main

import (
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// normalise FILE replaces what differs between hosts: directories, digests, kernel and
// Landlock versions, and paths of the system.
func cmdNormalise(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: normalise file")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("WORK"), "WORK")
	for _, n := range hostDependent {
		text = n.match.ReplaceAllString(text, n.with)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

var hostDependent = []struct {
	match *regexp.Regexp
	with  string
}{
	{regexp.MustCompile(`/\S*/testscript-main\d+/bin\b`), "BIN"},
	{regexp.MustCompile(`ABI \d+`), "ABI N"},
	{regexp.MustCompile(`(?m)^ +nothing +/etc/.*\n`), ""},
	{regexp.MustCompile(`(?m)^  (every server may read and execute|symbolic links|your other variables are hidden):\n(    .*\n)*`), "  $1:\n    ...\n"},
	{regexp.MustCompile(`(?m)^ +(PATH|LANG|LC_[A-Z]+|TERM|TZ|SHELL)=.*\n`), ""},
	{regexp.MustCompile(`(?m)(processes and threads) +\(.*\)$`), "$1  (PROCESSES)"},
	{regexp.MustCompile(`(?m)( MB of memory)\b.* exceed it\b.*\)$`), "$1  (MEMORY)"},
	{regexp.MustCompile(`\d+ inotify instances and \d+ watches`), "INOTIFY"},
	{regexp.MustCompile(`\d+ variables, \d+ of`), "N variables, N of"},
	{regexp.MustCompile(`(\S) {2,}`), "$1  "},
}
