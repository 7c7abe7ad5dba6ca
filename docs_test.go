package house_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/markdown"
)

// What a document may have at most.
const (
	maxColumns = 100
	maxWords   = 30 // of a sentence
)

// unchecked are documents that other programs write.
var unchecked = map[string]bool{"conformance/RESULTS.md": true}

// TestDocuments holds every document to the rules of CONTRIBUTING.md: links and pictures lead
// somewhere, lines and sentences are short.
func TestDocuments(t *testing.T) {
	docs, err := markdown.ReadAll(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		if unchecked[d.Name] {
			continue
		}
		for _, fault := range documentFaults(d, os.ReadFile) {
			t.Errorf("%s:%s", d.Name, fault)
		}
	}
}

// documentFaults lists what is against the rules in one document, each with its line. readFile
// reads other documents, relative to the root.
func documentFaults(d markdown.Document, readFile func(name string) ([]byte, error)) (faults []string) {
	for _, b := range d.Blocks {
		for _, target := range b.Links() {
			if why := linkFault(d, target, readFile); why != "" {
				faults = append(faults, fmt.Sprintf("%d: the link to %s: %s", b.Line, target, why))
			}
		}
		for _, s := range b.Sentences() {
			if n := markdown.Words(s); n > maxWords {
				faults = append(faults, fmt.Sprintf("%d: a sentence of %d words: %s", b.Line, n, s))
			}
		}
		if b.Kind == markdown.Table || b.Kind == markdown.Code || b.Kind == markdown.Definition {
			continue
		}
		for i := range strings.Count(b.Text, "\n") + 1 {
			if n := columns(d.Lines[b.Line-1+i]); n > maxColumns {
				faults = append(faults, fmt.Sprintf("%d: %d columns", b.Line+i, n))
			}
		}
	}
	return faults
}

var address = regexp.MustCompile(`https?://[^\s)>]+`)

// columns counts the columns of a line. Addresses, which cannot be broken, do not count.
func columns(line string) int { return len([]rune(address.ReplaceAllString(line, ""))) }

// linkFault returns why a link leads nowhere, or "". Addresses of other sites are not asked.
func linkFault(d markdown.Document, target string, readFile func(name string) ([]byte, error)) string {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return ""
	}
	file, anchor, hasAnchor := strings.Cut(target, "#")
	if file != "" {
		name := path.Join(path.Dir(d.Name), file)
		if path.IsAbs(file) || strings.HasPrefix(name, "..") {
			return "it leads out of the repository"
		}
		info, err := os.Stat(filepath.FromSlash(name))
		if err != nil {
			return "there is no such file"
		}
		if !hasAnchor {
			return ""
		}
		if info.IsDir() || path.Ext(name) != ".md" {
			return "only a document has anchors"
		}
		text, err := readFile(filepath.FromSlash(name))
		if err != nil {
			return err.Error()
		}
		d = markdown.Parse(name, string(text))
	}
	if !d.Anchors()[anchor] {
		return "there is no such heading"
	}
	return ""
}

// TestDocumentFaults shows that each rule can fail.
func TestDocumentFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[a](no-such.md)", "no such file"},
		{"![a](docs/no-such.svg)", "no such file"},
		{"<img src=\"docs/no-such.svg\">", "no such file"},
		{"[a]: no-such.md", "no such file"},
		{"| [a](no-such.md) |", "no such file"},
		{"[a](../x.md)", "out of the repository"},
		{"[a](/etc/passwd)", "out of the repository"},
		{"[a](#none)", "no such heading"},
		{"# Some\n\n[a](#some) [b](LICENSE) [c](docs/clients.md#clients) [d](https://example.org/x)", ""},
		{"[c](docs/clients.md#client)", "no such heading"},
		{"[c](LICENSE#x)", "only a document"},
		{strings.Repeat("a", 101), "101 columns"},
		{"- " + strings.Repeat("a", 99), "101 columns"},
		{"see https://example.org/" + strings.Repeat("a", 99), ""},
		{"| " + strings.Repeat("a", 101) + " |\n", ""},
		{"```\n" + strings.Repeat("a", 101) + "\n```", ""},
		{strings.Repeat("a ", 20) + "\n" + strings.Repeat("a ", 11), "31 words"},
		{strings.Repeat("a ", 20) + "\n\n" + strings.Repeat("a ", 11), ""},
		{strings.Repeat("a ", 20) + "end. " + strings.Repeat("a ", 11), ""},
	} {
		got := strings.Join(documentFaults(markdown.Parse("x.md", c.text), os.ReadFile), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// TestReadmeFigures tests that each figure of the README is in the document that says how
// it was measured, and that the count of attacks that succeed is that of the matrix.
func TestReadmeFigures(t *testing.T) {
	_, rest, _ := strings.Cut(testkit.ReadFile(t, "README.md"), "## Five figures\n")
	rows, _, ok := strings.Cut(rest, "<!-- /figures -->")
	figures := regexp.MustCompile(`\d+(?:\.\d+)? (?:ms|µs|MB)|\d{3,}`).FindAllString(rows, -1)
	if !ok || len(figures) < 6 {
		t.Fatalf("the README has the figures %q", figures)
	}
	matrix := testkit.ReadFile(t, "docs/attack-matrix.md")
	measured := testkit.ReadFile(t, "docs/performance.md") + matrix
	for _, f := range figures {
		if value, _, _ := strings.Cut(f, " "); !regexp.MustCompile(`\b` + regexp.QuoteMeta(value) + `\b`).MatchString(measured) {
			t.Errorf("no document has measured %s", f)
		}
	}
	if n := strings.Count(matrix, "| **succeeds** |"); !strings.Contains(rows, fmt.Sprintf(": %d succeed", n)) {
		t.Errorf("%d attacks succeed, and the README has\n%s", n, rows)
	}
}

// pageMark matches a document that a comment names, and a part of it in quotation marks.
var pageMark = regexp.MustCompile(`\b((?:docs/[a-z/-]+|SECURITY|README|DESIGN|CONTRIBUTING|ROUGH_EDGES)\.md)(?:,? "([^"\n]+)")?`)

// TestSourceNamesDocuments tests that the documents and their parts that the sources name in
// comments and messages exist.
func TestSourceNamesDocuments(t *testing.T) {
	anchors := map[string]map[string]bool{}
	found := 0
	for _, name := range checkedOut(t) {
		if path.Ext(name) != ".go" || name == "docs_test.go" {
			continue
		}
		text := testkit.ReadFile(t, name)
		if !strings.Contains(text, ".md") {
			continue
		}
		joined := regexp.MustCompile(`\n\s*// `).ReplaceAllString(text, " ")
		for _, m := range pageMark.FindAllStringSubmatch(joined, -1) {
			found++
			if anchors[m[1]] == nil {
				page, err := os.ReadFile(filepath.FromSlash(m[1]))
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				anchors[m[1]] = markdown.Parse(m[1], string(page)).Anchors()
			}
			if m[2] != "" && !anchors[m[1]][markdown.Slug(m[2])] {
				t.Errorf("%s: %s has no part %q", name, m[1], m[2])
			}
		}
	}
	if found == 0 {
		t.Error("nothing was found")
	}
}
