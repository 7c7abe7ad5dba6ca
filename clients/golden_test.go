package clients

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestEntries compares what is read from each fixture with what it means. A fixture is a file in the
// folder of its client in testdata: SCOPE.EXT or SCOPE-NAME.EXT, with what wrap makes of it in SCOPE.after.EXT,
// which a test of cmd/internal/wrapping writes, and with its entries in SCOPE.entries.txt. The file that its
// page shows is the last one.
func TestEntries(t *testing.T) {
	for _, c := range All() {
		files := testkit.Get(filepath.Glob(filepath.Join("testdata", c.Name, "*.*")))(t)
		for _, file := range files {
			ext := filepath.Ext(file)
			base := strings.TrimSuffix(filepath.Base(file), ext)
			if ext == ".txt" || strings.Contains(base, ".") {
				continue
			}
			scope, _, _ := strings.Cut(base, "-")
			at := slices.IndexFunc(c.Places, func(p Place) bool { return string(p.Scope) == scope && strings.HasSuffix(p.Linux, ext) })
			if at < 0 {
				t.Fatalf("%s: %s has no place for %s", file, c.Name, base)
			}
			var out strings.Builder
			for _, item := range items(t, c.Places[at], file, []byte(testkit.ReadFile(t, file))) {
				describe(&out, c, c.Entry(item))
			}
			testkit.Golden(t, c.Name+"/"+base+".entries.txt", out.String())
		}
		if len(files) == 0 {
			t.Errorf("%s has no fixture", c.Name)
		}
	}
}

func describe(out *strings.Builder, c Client, e Entry) {
	fmt.Fprintf(out, "%q, line %d, at %q\n", e.Server, e.Line, e.Path)
	row := func(name string, value any) {
		if v := reflect.ValueOf(value); !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0) {
			fmt.Fprintf(out, "    %-9s %v\n", name, value)
		}
	}
	quoted := func(words []string) string {
		if len(words) == 0 {
			return ""
		}
		return fmt.Sprintf("%q", words)
	}
	row("for", e.For)
	row("runs", quoted(e.Argv()))
	texts := e.Argv()
	for _, v := range e.Env {
		if v.Unset {
			row("env", v.Name+" removed")
		} else {
			row("env", fmt.Sprintf("%s=%q", v.Name, v.Value))
		}
		texts = append(texts, v.Value)
	}
	row("names", e.Names)
	row("env file", e.EnvFile)
	row("cwd", e.Cwd)
	row("url", e.URL)
	for _, text := range append(texts, e.EnvFile, e.Cwd) {
		for _, r := range c.References(text) {
			row("uses", fmt.Sprintf("%s: %s %q, default %q", r.Text, r.Kind, r.Name, r.Default))
		}
	}
	if e.Left != "" {
		row("left", fmt.Sprintf("it %s (%s)", e.Left, e.Detail))
	}
}
