package explain_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/docs/explain"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// published are the names of all pages. Records and messages have them, so a name is neither
// changed nor removed.
var published = []string{
	"arguments", "browser", "config", "conflict", "elsewhere", "env", "execute", "fs-move", "fs-protected", "fs-read",
	"fs-sensitive", "fs-write", "gap", "inbound", "jail", "leak", "limit-files", "limit-memory", "limit-processes", "message",
	"net-address", "net-host", "net-limit", "net-name", "net-proxy", "net-request", "net-scheme", "net-unreachable", "never", "package-install",
	"package-missing", "package-scripts", "path-argument", "per-call", "pin-tools", "possible", "program",
	"program-missing", "record", "reload", "secret", "server-ended", "socket", "stdout", "timeout", "trust", "undo", "userns",
}

// TestNames tests that no page is missing, and that a new one is in the list.
func TestNames(t *testing.T) {
	if got := explain.Names(); !slices.Equal(got, published) {
		t.Errorf("the pages are\n%q\nand published are\n%q", got, published)
	}
	if _, ok := explain.Find("nothing"); ok {
		t.Error("there is a page that does not exist")
	}
}

var (
	code     = regexp.MustCompile("`[^`]*`")
	longName = regexp.MustCompile(`\S{90}`) // what no line breaks
	headings = regexp.MustCompile("(?m)^## (.*)$")
	links    = regexp.MustCompile(`\]\(([^)#]*)`)
	fences   = regexp.MustCompile("(?s)```([a-z]*)\n(.*?)```\n")
)

// TestForm tests the form of each page: its parts, its length, its links, its words.
func TestForm(t *testing.T) {
	for _, name := range explain.Names() {
		text := readPage(t, name)
		if page, _ := explain.Find(name); page.Title == "" || strings.Contains(page.Title, "#") || len(name+page.Title) > 90 {
			t.Errorf("%s: the title is %q", name, page.Title)
		}
		if n := strings.Count(text, "\n"); n > 60 {
			t.Errorf("%s has %d lines", name, n)
		}
		var parts []string
		for _, m := range headings.FindAllStringSubmatch(text, -1) {
			parts = append(parts, m[1])
		}
		if want := []string{"What you see", "What it means", "What to do", "When not to", "See also"}; !slices.Equal(parts, want) {
			t.Errorf("%s has the parts %q", name, parts)
		}
		if blocks := fences.FindAllStringSubmatch(text, -1); len(blocks) == 0 || blocks[0][1] != "text" || !strings.Contains(blocks[0][2], "mcp-jail") {
			t.Errorf("%s: the example is none of mcp-jail", name)
		}
		for _, m := range links.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.FromSlash(m[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		prose := headings.ReplaceAllString(fences.ReplaceAllString(text, ". "), ". ")
		for _, sentence := range regexp.MustCompile(`[.:?!;]\s`).Split(prose, -1) {
			if n := len(strings.Fields(sentence)); n > 30 {
				t.Errorf("%s: a sentence has %d words: %s", name, n, sentence)
			}
		}
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(line) > 101 && !longName.MatchString(line) {
				t.Errorf("%s: a line is too long: %s", name, line)
			}
		}
	}
}

// TestRules tests that the rules in the pages are valid parts of the server notes.
func TestRules(t *testing.T) {
	checked := 0
	for _, name := range explain.Names() {
		for _, m := range fences.FindAllStringSubmatch(readPage(t, name), -1) {
			if m[1] != "toml" {
				continue
			}
			checked++
			text := m[2]
			if !strings.Contains(text, "[servers.notes]\n") {
				text = "[servers.notes]\ncommand = \"notes-server\"\n" + text
			}
			if err := load(t, text); err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
		}
	}
	if checked < 7 {
		t.Errorf("%d rules", checked)
	}
	if err := load(t, "[servers.notes]\ncommand = \"x\"\nnonsense = 1\n"); err == nil {
		t.Error("control: nonsense is accepted")
	}
}

func load(t *testing.T, text string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.LoadOptions{Files: []string{file}})
	if err != nil {
		return err
	}
	_, err = cfg.Policy("notes", "")
	return err
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name + ".md")
	if err != nil {
		t.Fatal(errors.Join(errors.New(name), err))
	}
	return string(b)
}

// TestText tests that prose fits the width, that rules stay as they are, and that no marks of
// Markdown for headings and links are left.
func TestText(t *testing.T) {
	for _, name := range explain.Names() {
		page, _ := explain.Find(name)
		for _, width := range []int{40, 80, 100} {
			text := page.Text(width, func(s string) string { return "<" + s + ">" })
			if !strings.HasPrefix(text, "<"+name+": ") || !strings.Contains(text, "\n<When not to>\n") || strings.Contains(text, "```") || strings.Contains(text, "](") {
				t.Errorf("%s:\n%s", name, text)
			}
			for line := range strings.Lines(text) {
				if line = strings.TrimSuffix(line, "\n"); strings.Count(line, "`")%2 != 0 && !strings.HasPrefix(line, "    ") {
					t.Errorf("%s, width %d: a line breaks a command: %s", name, width, line)
				}
				if prose := code.ReplaceAllString(line, ""); utf8.RuneCountInString(line) > width && strings.Contains(strings.TrimSpace(prose), " ") && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "<") {
					t.Errorf("%s, width %d: %s", name, width, line)
				}
			}
		}
	}
	page, _ := explain.Find("conflict")
	if text := page.Text(80, strings.Clone); !strings.Contains(text, "\n    [[servers.notes.access.fs]]\n    path = \"src\"\n    deny = \"write\"\n") {
		t.Errorf("the rule is not there:\n%s", text)
	}
}
