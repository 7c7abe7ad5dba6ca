package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcp-jail/mcp-jail/internal/testkit/markdown"
)

// helpFile has the help topics.
var helpFile, _ = filepath.Abs(filepath.Join("..", "..", "docs", "help.md"))

// TestExplain makes the examples of the help topics. Each script starts in a project
// below the home of a user.
func TestExplain(t *testing.T) {
	p := scriptParams(filepath.Join("testdata", "explain"))
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		env.Cd = filepath.Join(env.WorkDir, "home", "project")
		config := filepath.Join(env.WorkDir, "home", ".config", "mcp-jail")
		err := errors.Join(setup(env), os.MkdirAll(config, 0o755))
		env.Cd = filepath.Join(env.WorkDir, "home", "project")
		return errors.Join(err, os.MkdirAll(env.Cd, 0o755))
	}
	p.Cmds["ask"], p.Cmds["example"], p.Cmds["remedy"] = cmdAsk, cmdExample, cmdRemedy
	testscript.Run(t, p)
}

// cmdAsk: ask SERVER [TOOL KEY=VALUE...] starts a configured server, calls a tool, and leaves.
func cmdAsk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: ask server [tool key=value...]")
	}
	lines := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
	if len(args) > 1 {
		lines += `{"jsonrpc":"2.0","id":3,"method":"tools/list"}` + "\n"
		arguments := map[string]string{}
		for _, arg := range args[2:] {
			key, value, _ := strings.Cut(arg, "=")
			arguments[key] = value
		}
		b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": map[string]any{"name": args[1], "arguments": arguments}})
		ts.Check(err)
		lines += string(b) + "\n"
	}
	requests := filepath.Join(ts.Getenv("WORK"), "requests.jsonl")
	ts.Check(os.WriteFile(requests, []byte(lines), 0o644))
	var failed *exec.ExitError
	if err := ts.Exec("client", requests, "mcp-jail", "run", args[0]); err != nil && !errors.As(err, &failed) {
		ts.Fatalf("%v", err)
	}
}

// cmdRemedy: remedy TOPIC runs the commands that a topic shows, as a user in a terminal who answers
// questions with yes. With "!", one of them fails.
func cmdRemedy(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: remedy topic")
	}
	var failed error
	_, topic, _, err := topicOf(args[0])
	ts.Check(err)
	for _, line := range remedies(topic) {
		if err := inTerminal(ts, strings.ReplaceAll(line, "/home/you", ts.Getenv("HOME"))); err != nil {
			failed = fmt.Errorf("%s: %w", line, err)
		}
	}
	if (failed != nil) != neg {
		ts.Fatalf("the commands of the topic %s: %v", args[0], failed)
	}
}

// inTerminal runs a command line in a terminal, and answers its questions with yes.
func inTerminal(ts *testscript.TestScript, line string) error {
	answers := filepath.Join(ts.Getenv("WORK"), "answers")
	ts.Check(os.WriteFile(answers, []byte("y\n"), 0o644))
	return ts.Exec("sh", "-c", `script -qec "$1" /dev/null <"$2"`, "sh", line, answers)
}

// remedies returns the command lines of a topic that are for a shell.
func remedies(topic string) (lines []string) {
	for _, b := range markdown.Parse("", topic).Blocks {
		if b.Kind == markdown.Code && b.Language() == "sh" && strings.Contains(b.Text, "mcp-jail") {
			lines = append(lines, strings.Split(strings.TrimSpace(b.Text), "\n")...)
		}
	}
	return lines
}

// cmdExample: example TOPIC FILE REGEXP... compares the example of a topic with the lines of a
// file that match.
func cmdExample(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: example topic file regexp...")
	}
	text := strings.NewReplacer(ts.Getenv("WORK")+"/home", "/home/you", ts.Getenv("WORK"), "/home").Replace(ts.ReadFile(args[1]))
	ts.Check(checkExample(args[0], text, args[2:]...))
}

// checkExample compares the example of a topic with the lines of a text that match an
// expression. The topic may break lines anywhere. With MCPJAIL_UPDATE it writes the example.
func checkExample(topic, text string, match ...string) error {
	before, section, after, err := topicOf(topic)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(section, "```text\n")
	shown, tail, closed := strings.Cut(rest, "```\n")
	if !ok || !closed {
		return fmt.Errorf("%s has no example", topic)
	}
	got := exampleLines(text, regexp.MustCompile(strings.Join(match, "|")))
	switch {
	case got == "":
		return fmt.Errorf("no line matches %q in\n%s", match, text)
	case strings.Join(strings.Fields(got), " ") == strings.Join(strings.Fields(shown), " "):
		return nil
	case os.Getenv("MCPJAIL_UPDATE") != "":
		return os.WriteFile(helpFile, []byte(before+head+"```text\n"+got+"```\n"+tail+after), 0o644)
	}
	return fmt.Errorf("%s shows\n%s\nand the program says (MCPJAIL_UPDATE=1 writes it there)\n%s", topic, shown, got)
}

// topicOf returns the section of a topic in the help file, with what stands before and after it.
func topicOf(name string) (before, section, after string, err error) {
	file, err := os.ReadFile(helpFile)
	if err != nil {
		return "", "", "", err
	}
	at := strings.Index(string(file), "\n## "+name+"\n")
	if at < 0 {
		return "", "", "", fmt.Errorf("%s has no topic %s", helpFile, name)
	}
	before, section = string(file[:at+1]), string(file[at+1:])
	if end := strings.Index(section, "\n## "); end >= 0 {
		section, after = section[:end], section[end:]
	}
	return before, section, after, nil
}

// exampleWidth is the width of examples.
const exampleWidth = 90

var exampleChanges = []struct {
	match *regexp.Regexp
	with  string
}{
	{regexp.MustCompile(`not found in PATH \([^)]*\)`), "not found in PATH (/usr/local/bin:/usr/bin:/bin)"},
	{regexp.MustCompile(`\b20\d{6}-\d{6}-[0-9a-f]{4}\b`), "20261123-101845-7f15"},
	{regexp.MustCompile(`\b\d+ times\b`), "8 times"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "10:18:45"},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`), "2026-11-23"},
	{regexp.MustCompile(` [-+]\d\d:\d\d\b`), " +00:00"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:4873"},
	{regexp.MustCompile(`/\S*/bin/(mcp-jail|notes-server)\b`), "/usr/bin/$1"},
}

// pointsHere matches the line of a message that names its topic.
var pointsHere = regexp.MustCompile(`^mcp-jail: +More: mcp-jail help [a-z-]+$`)

// exampleLines returns the lines that match, without what differs between machines, broken
// between words.
func exampleLines(text string, match *regexp.Regexp) string {
	for _, c := range exampleChanges {
		text = c.match.ReplaceAllString(text, c.with)
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \n"); !match.MatchString(line) || pointsHere.MatchString(line) {
			continue
		}
		for len(line) > exampleWidth {
			at := strings.LastIndexByte(line[:exampleWidth], ' ')
			if strings.TrimSpace(line[:max(at, 0)]) == "" {
				break
			}
			b.WriteString(line[:at] + "\n")
			line = "      " + line[at+1:]
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
