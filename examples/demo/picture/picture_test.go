package main

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text string
		want [][]span
	}{
		{"plain\n", [][]span{{{0, "plain", style{}}}}},
		{"  two words   apart", [][]span{{{2, "two words", style{}}, {14, "apart", style{}}}}},
		{"\x1b[31mred\x1b[0m and not", [][]span{{{0, "red", style{colour: 1}}, {4, "and not", style{}}}}},
		{"\x1b[1;36mboth\x1b[22m one\x1b[m none", [][]span{{{0, "both", style{bold: true, colour: 6}}, {5, "one", style{colour: 6}}, {9, "none", style{}}}}},
		{"\x1b[2mover\nlines\x1b[0m", [][]span{{{0, "over", style{dim: true}}}, {{0, "lines", style{dim: true}}}}},
		{"a\tb\r\n\n", [][]span{{{0, "a", style{}}, {8, "b", style{}}}, nil}},
		{"\x1b[2K\x1b[?25ljust text\x1b", [][]span{{{0, "just text", style{}}}}},
		{"✓ é", [][]span{{{0, "✓ é", style{}}}}},
	} {
		if got := parse(test.text); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: got %v, want %v", test.text, got, test.want)
		}
	}
}

func TestDrawIsWellFormed(t *testing.T) {
	picture := draw(`<a> & "b"`, parse("\x1b[31m<script>&\x1b[0m\n\nsecond \x01line\n\n"))
	var text strings.Builder
	for d := xml.NewDecoder(strings.NewReader(string(picture))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, picture)
		}
		if characters, ok := token.(xml.CharData); ok {
			text.Write(characters)
		}
	}
	for _, want := range []string{`<a> & "b"`, "<script>&", "second line"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in:\n%s", want, picture)
		}
	}
	// The name of SVG's own namespace is the only address.
	if strings.Count(string(picture), "http") != 1 || strings.Contains(string(picture), "%!") {
		t.Errorf("something foreign in:\n%s", picture)
	}
}

func TestFailureLeavesTheFile(t *testing.T) {
	out := filepath.Join(t.TempDir(), "demo.svg")
	testkit.Must(t, os.WriteFile(out, []byte("as it was"), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if run(ctx, out) == nil {
		t.Error("no error")
	}
	if text, _ := os.ReadFile(out); string(text) != "as it was" {
		t.Errorf("the file now says %q", text)
	}
}

// TestPictureOfReadme tests that docs/demo.svg shows what the demonstration prints now. With
// -update it draws the picture.
func TestPictureOfReadme(t *testing.T) {
	for _, feature := range []string{"landlock", "seccomp", "userns", "mount_api"} {
		if f, err := confine.Probe().Has(feature); err != nil || f.Answer != confine.Yes {
			testkit.Skip(t, feature, "this host does not have it: %s", f.Detail)
		}
	}
	out := filepath.Join(t.TempDir(), "demo.svg")
	testkit.Must(t, run(t.Context(), out))
	drawn, err := os.ReadFile(out)
	testkit.Must(t, err)
	testkit.Golden(t, "../../../../docs/demo.svg", drawn)
}

func TestKeep(t *testing.T) {
	const text = "head\n\n\x1b[36m1\x1b[0m one\n  a\n\n2 two\n  b\n\n3 three\n\nend\n"
	if got, want := keep(text), "head\n\n\x1b[36m1\x1b[0m one\n  a\n\n2 three\n\nend\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
