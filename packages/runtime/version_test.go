//go:build unix

package runtime

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestRunVersion(t *testing.T) {
	dir := t.TempDir()
	script := func(text string) string {
		file := filepath.Join(dir, "node")
		if err := testkit.WriteProgram(file, []byte("#!/bin/sh\n"+text)); err != nil {
			t.Fatal(err)
		}
		return file
	}
	t.Setenv("NODE_OPTIONS", "--require=/evil")
	got, err := AskVersion(context.Background(), script(`echo "$1 $NODE_OPTIONS $(pwd) $(cat)"`))
	if got != "--version  / \n" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	got, err = AskVersion(context.Background(), script("yes | head -c 100000"))
	if len(got) != 256 || err != nil {
		t.Error(len(got), err)
	}
	if _, err = AskVersion(context.Background(), script("exit 3")); err == nil || !strings.Contains(err.Error(), "/node --version: exit status 3") {
		t.Error(err)
	}
}

func TestVersionIn(t *testing.T) {
	for answer, want := range map[string]string{
		"v20.20.2\n": "20.20.2", "Python 3.11.2": "3.11.2", "Python 3.14.0rc1\n": "3.14.0rc1", "Python 3.10.13 (x)\n[PyPy 7.3]": "3.10.13", "Python 3.13.0+": "3.13.0",
		"": "", "hello": "", "v1.2": "", "1..2": "", "v1.2.3\x1b[0m": "",
	} {
		if got := versionIn(answer); got != want {
			t.Errorf("%q: %q, want %q", answer, got, want)
		}
	}
}
