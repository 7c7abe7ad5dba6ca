//go:build unix

package runtime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestRunVersion(t *testing.T) {
	dir := t.TempDir()
	script := func(text string) string {
		file := filepath.Join(dir, "node")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
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

func TestNativeAddons(t *testing.T) {
	for want, files := range map[bool]fstest.MapFS{
		true:  {"node_modules/a/build/Release/a.node": {}},
		false: {"node_modules/a/a.node.js": {}, "node_modules/b.node/x": {}},
	} {
		if got, err := NativeAddons(files); got != want || err != nil {
			t.Errorf("%v: %v, %v", files, got, err)
		}
	}
	if _, err := NativeAddons(os.DirFS(filepath.Join(t.TempDir(), "none"))); err == nil {
		t.Error("a tree that is not there has none")
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

func ExampleInterpreter_ABI() {
	fmt.Println(Interpreter{Language: Node, Version: "22.11.0"}.ABI(), Interpreter{Language: Python, Version: "3.12.1"}.ABI())
	// Output: node-22 python-3.12
}
