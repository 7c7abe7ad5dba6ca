package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/markdown"
)

// runMark begins the comment before a block of a document that is run: its first word is a
// file in testdata/documents.
//
//	<!-- run: NAME
//	LINES -->
//
// All blocks of a document with one NAME are run in order, in one world: the script of that
// file makes it. LINES are run before the block, as lines of that script.
//
// In a block of sh, each line is a command, which must succeed; questions are answered with yes.
// In a block of console, the lines that begin with a dollar sign are commands, and the others
// are what they print. Every other block is a file, which a line "file PATH" among LINES
// names, or what the command before it has printed. In what is printed, a line that is "…"
// stands for any lines. MCPJAIL_UPDATE=1 writes what is printed into the document.
const runMark = "run:"

// TestDocumentsRun runs the commands of the documents in jails, and compares what they print.
func TestDocumentsRun(t *testing.T) {
	docs, err := markdown.ReadAll(filepath.Join("..", ".."))
	must(t, err)
	found := 0
	for _, d := range docs {
		for _, name := range worldsOf(d) {
			found++
			t.Run(d.Name+"/"+name, func(t *testing.T) {
				file := filepath.Join("..", "..", filepath.FromSlash(d.Name))
				runDocument(t, file, &shownDocument{Document: markdown.Parse(d.Name, testkit.ReadFile(t, file)), world: name})
			})
		}
	}
	if found == 0 {
		t.Error("no document has a block that is run")
	}
}

// TestDocumentsRunAll tests that each command line for a shell is run, but for those of the
// help topics, which TestRemedies has.
func TestDocumentsRunAll(t *testing.T) {
	// runElsewhere are command lines of documents that no world runs, with the reason.
	runElsewhere := testkit.Named[string](t, "run-elsewhere.txt")
	docs, err := markdown.ReadAll(filepath.Join("..", ".."))
	must(t, err)
	for _, d := range docs {
		for _, b := range d.Blocks {
			if _, _, runs := runComment(b); runs || b.Kind != markdown.Code || b.Language() != "sh" && b.Language() != "console" || d.Name == "docs/help.md" {
				continue
			}
			for _, line := range strings.Split(strings.TrimSpace(b.Text), "\n") {
				line, _, _ = strings.Cut(line, "  #")
				if runElsewhere[strings.TrimSpace(line)] == "" {
					t.Errorf("%s:%d: nothing runs %s", d.Name, b.Line, line)
				}
			}
		}
	}
}

// worldsOf returns the names of the worlds that a document is run in.
func worldsOf(d markdown.Document) (names []string) {
	for _, b := range d.Blocks {
		if name, _, ok := runComment(b); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// runComment returns the world of a block and the lines of its comment.
func runComment(b markdown.Block) (world, lines string, ok bool) {
	rest, ok := strings.CutPrefix(b.Comment, runMark)
	world, lines, _ = strings.Cut(strings.TrimSpace(rest), "\n")
	return strings.TrimSpace(world), lines, ok && b.Kind == markdown.Code
}

// shownDocument is a document while it is run.
type shownDocument struct {
	markdown.Document
	world   string
	changed bool
}

func runDocument(t *testing.T, document string, d *shownDocument) {
	script := testkit.ReadFile(t, filepath.Join("testdata", "documents", d.world+".txtar"))
	head, files, hasFiles := strings.Cut(script, "\n-- ")
	for i, b := range d.Blocks {
		if world, lines, ok := runComment(b); ok && world == d.world {
			head += fmt.Sprintf("\n%s\nblock %d\n", lines, i)
		}
	}
	if hasFiles {
		head += "\n-- " + files
	}
	file := filepath.Join(t.TempDir(), d.world+".txtar")
	must(t, os.WriteFile(file, []byte(head), 0o644))
	p := scriptParams("")
	p.UpdateScripts = false
	p.Files = []string{file}
	given := "" // the path of a file that the next block is
	p.Cmds["file"] = func(ts *testscript.TestScript, neg bool, args []string) { given = args[0] }
	p.Cmds["block"] = func(ts *testscript.TestScript, neg bool, args []string) {
		var i int
		fmt.Sscan(args[0], &i)
		d.block(ts, &d.Blocks[i], given)
		given = ""
	}
	t.Cleanup(func() { // the script runs in parallel
		if d.changed && !t.Failed() {
			must(t, os.WriteFile(document, []byte(strings.Join(d.Lines, "\n")+"\n"), 0o644))
		}
	})
	testscript.Run(t, p)
}

// block runs one block.
func (d *shownDocument) block(ts *testscript.TestScript, b *markdown.Block, file string) {
	switch {
	case b.Language() == "sh":
		for _, line := range strings.Split(strings.TrimSpace(b.Text), "\n") {
			if err := inTerminal(ts, line); err != nil {
				ts.Fatalf("%s:%d: %s: %v", d.Name, b.Line, line, err)
			}
		}
	case b.Language() == "console":
		d.compare(ts, b, console(ts, b.Text))
	case file != "":
		ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(file)), 0o755))
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(b.Text), 0o644))
	default:
		d.compare(ts, b, printed(ts, ts.ReadFile("stdout")))
	}
}

// console runs the commands of a block and returns them with what they print.
func console(ts *testscript.TestScript, text string) string {
	var out strings.Builder
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		command, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			continue
		}
		out.WriteString(lines[i] + "\n")
		for strings.HasSuffix(command, "\\") && i+1 < len(lines) {
			i++
			command += "\n" + lines[i]
			out.WriteString(lines[i] + "\n")
		}
		_ = ts.Exec("sh", "-c", "{ "+command+"\n} 2>&1") // what it prints says whether it failed
		out.WriteString(printed(ts, ts.ReadFile("stdout")))
	}
	return out.String()
}

// printed returns what a program has printed, with the places of a user's machine.
func printed(ts *testscript.TestScript, text string) string {
	text = strings.ReplaceAll(text, ts.Getenv("HOME"), "/home/me")
	text = regexp.MustCompile(`/\S*/mcp-jail-cli-\d+/programs\b`).ReplaceAllString(text, "/usr/local/bin")
	// What a slow machine says besides, and how long it took.
	text = regexp.MustCompile(`(?m)^mcp-jail: starting .* \.\.\.\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`\(\d+ min \d+ s left\)`).ReplaceAllString(text, "(5 min 0 s left)")
	return regexp.MustCompile(`(?m) +$`).ReplaceAllString(text, "")
}

// varying matches what differs from run to run in what is printed: times, sizes, hashes, and
// the version of Python.
var varying = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ][0-9:.+Z-]+(?: [A-Z]{3,4})?|\d\d:\d\d(?::\d\d)?|\b(?:\d+ min )?\d+(?:[.,]\d+)? (?:µs|ms|s|kB|MB|KiB|MiB|bytes)\b|\b[0-9a-f]{8}-|[0-9a-f]{12,}|\d{8}T\d{6}Z|\bpython3\.\d+`)

// compare compares a block with what was printed.
func (d *shownDocument) compare(ts *testscript.TestScript, b *markdown.Block, got string) {
	if matches(b.Text, got) {
		return
	}
	if os.Getenv("MCPJAIL_UPDATE") == "" {
		ts.Fatalf("%s:%d shows\n%s\nand it is (MCPJAIL_UPDATE=1 writes it there)\n%s", d.Name, b.Line, b.Text, got)
	}
	lines := elide(strings.Split(strings.TrimSpace(b.Text), "\n"), strings.Split(strings.TrimSpace(got), "\n"))
	had := strings.Count(b.Text, "\n")
	d.Lines = slices.Replace(d.Lines, b.Line, b.Line+had, lines...)
	for i := range d.Blocks {
		if d.Blocks[i].Line > b.Line {
			d.Blocks[i].Line += len(lines) - had
		}
	}
	b.Text, d.changed = strings.Join(lines, "\n")+"\n", true
}

// elide replaces lines that were printed by the "…" of the document: the lines between its
// neighbours, if both neighbours are still printed.
func elide(shown, got []string) []string {
	from := 0
	find := func(line string, after int) int {
		at := slices.IndexFunc(got[after:], func(g string) bool {
			return varying.ReplaceAllString(g, "0") == varying.ReplaceAllString(line, "0")
		})
		if at < 0 {
			return -1
		}
		return after + at
	}
	for i, line := range shown {
		if line != "…" {
			continue
		}
		begin, end := from, len(got)
		if i > 0 {
			if begin = find(shown[i-1], from) + 1; begin == 0 {
				continue
			}
		}
		if i+1 < len(shown) {
			end = find(shown[i+1], begin)
		}
		if end >= 0 {
			got = slices.Replace(got, begin, end, "…")
			from = begin + 1
		}
	}
	return got
}

// matches reports whether a text is what a document shows. A line "…" stands for any lines.
func matches(shown, got string) bool {
	plain := func(s string) string { return varying.ReplaceAllString(strings.TrimSpace(s), "0") + "\n" }
	pattern := "^"
	for line := range strings.Lines(plain(shown)) {
		if strings.TrimSpace(line) == "…" {
			pattern += `(?:.*\n)+`
		} else {
			pattern += regexp.QuoteMeta(line)
		}
	}
	return regexp.MustCompile(pattern + "$").MatchString(plain(got))
}

// TestDocumentedSecret tests the example of docs/getting-started.md: the server reads with a
// token that it never has, and cannot write. The diagnosis names that request, and proposes nothing.
func TestDocumentedSecret(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	_, rest, _ := strings.Cut(testkit.ReadFile(t, filepath.Join("..", "..", "docs", "getting-started.md")), "<!-- hosts -->\n```toml\n")
	config, _, ok := strings.Cut(rest, "```\n")
	for old, now := range map[string]string{`"npx"`: `"node"`, `"-y", "` + github + `"`: `"` + server(github) + `"`} {
		ok = ok && strings.Contains(config, old)
		config = strings.Replace(config, old, now, 1)
	}
	if !ok {
		t.Fatal("the page has no such example")
	}
	w := newWorld(t)
	token := newToken()
	net := newInternet(t, w, token)
	w.env = append(w.env, githubToken+"="+token)
	if got := w.attempt(t, "github", config, func(t *testing.T, _ *world, s *clientSession) toolResult {
		if got := commits(s); got.IsError || !strings.Contains(got.texts(), "a commit") {
			t.Errorf("reading: %s\n%s", got.raw, s.stderr.String())
		}
		if got := s.tool("create_issue", map[string]any{"owner": "a", "repo": "b", "title": "x"}); !got.IsError {
			t.Errorf("writing: %s", got.raw)
		}
		return toolResult{}
	}); got.IsError {
		t.Errorf("the server did not start: %s", got.raw)
	}
	if told := net.requests(t); told != "GET /repos/a/b/commits Bearer "+token+"\n" {
		t.Errorf("the host was told %q", told)
	}
	if why := w.why(t, "github"); why.Attribution != "certain" || len(why.Grant) > 0 || !strings.Contains(why.Cause, "POST /repos/a/b/issues") {
		t.Errorf("%+v", why)
	}
}
