package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/docs"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// published are the names of all topics. Records and messages have them, so a name is neither
// changed nor removed.
var published = []string{
	"arguments", "browser", "config", "conflict", "elsewhere", "env", "execute", "fs-move", "fs-protected", "fs-read",
	"fs-sensitive", "fs-write", "gap", "inbound", "jail", "leak", "limit-files", "limit-memory", "limit-processes", "message",
	"net-address", "net-host", "net-limit", "net-name", "net-proxy", "net-request", "net-scheme", "net-unreachable", "never", "package-install",
	"package-missing", "package-scripts", "path-argument", "per-call", "pin-tools", "possible", "program",
	"program-missing", "record", "reload", "replaced", "secret", "server-ended", "socket", "stdout", "timeout", "tool-off", "trust", "undo", "userns",
}

// names returns the names of all topics.
func names() (names []string) {
	for _, topic := range docs.Topics() {
		names = append(names, topic.Name)
	}
	return names
}

// TestNames tests that no topic is missing, and that a new one is in the list.
func TestNames(t *testing.T) {
	if got := names(); !slices.Equal(got, published) {
		t.Errorf("the topics are\n%q\nand published are\n%q", got, published)
	}
	if _, ok := docs.Find("nothing"); ok {
		t.Error("there is a topic that does not exist")
	}
}

var (
	code     = regexp.MustCompile("`[^`]*`")
	longName = regexp.MustCompile(`\S{90}`) // what no line breaks
	leads    = regexp.MustCompile(`(?m)^\*\*(.*?)[.:]\*\* `)
	fences   = regexp.MustCompile("(?s)```([a-z]*)\n(.*?)```\n")
)

// sections returns the text of each topic in help.md.
func sections(t *testing.T) map[string]string {
	t.Helper()
	file, err := os.ReadFile("help.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, section := range strings.Split(string(file), "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		found[name] = text
	}
	return found
}

// TestForm tests the form of each topic: its title, its example, its parts.
func TestForm(t *testing.T) {
	for name, text := range sections(t) {
		if topic, _ := docs.Find(name); topic.Title == "" || strings.ContainsAny(topic.Title, "#`") || len(name+topic.Title) > 90 {
			t.Errorf("%s: the title is %q", name, topic.Title)
		}
		var parts []string
		for _, m := range leads.FindAllStringSubmatch(text, -1) {
			parts = append(parts, m[1])
		}
		if want := []string{"What to do", "Careful", "See also"}; !slices.Equal(parts, want) && !slices.Equal(parts, want[:2]) {
			t.Errorf("%s has the parts %q", name, parts)
		}
		if blocks := fences.FindAllStringSubmatch(text, -1); len(blocks) == 0 || blocks[0][1] != "text" || !strings.Contains(blocks[0][2], "mcp-jail") {
			t.Errorf("%s: the example is none of mcp-jail", name)
		}
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(line) > 101 && !longName.MatchString(line) {
				t.Errorf("%s: a line is too long: %s", name, line)
			}
		}
	}
}

// TestRules tests that the rules in the topics are valid parts of the server notes.
func TestRules(t *testing.T) {
	checked := 0
	for name, section := range sections(t) {
		for _, m := range fences.FindAllStringSubmatch(section, -1) {
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

// TestText tests that prose fits the width, that rules stay as they are, and that no marks of
// Markdown are left.
func TestText(t *testing.T) {
	for _, topic := range docs.Topics() {
		for _, width := range []int{40, 80, 100} {
			text := topic.Text(width, func(s string) string { return "<" + s + ">" })
			if !strings.HasPrefix(text, "<"+topic.Name+": ") || !strings.Contains(text, "\nCareful. ") || strings.Contains(text, "```") || strings.Contains(text, "](") {
				t.Errorf("%s:\n%s", topic.Name, text)
			}
			for line := range strings.Lines(text) {
				if line = strings.TrimSuffix(line, "\n"); strings.Count(line, "`")%2 != 0 && !strings.HasPrefix(line, "    ") {
					t.Errorf("%s, width %d: a line breaks a command: %s", topic.Name, width, line)
				}
				if prose := code.ReplaceAllString(line, ""); utf8.RuneCountInString(line) > width && strings.Contains(strings.TrimSpace(prose), " ") && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "<") {
					t.Errorf("%s, width %d: %s", topic.Name, width, line)
				}
			}
		}
	}
	topic, _ := docs.Find("conflict")
	if text := topic.Text(80, strings.Clone); !strings.Contains(text, "\n    [[servers.notes.access.fs]]\n    path = \"src\"\n    deny = \"write\"\n") {
		t.Errorf("the rule is not there:\n%s", text)
	}
}
