package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

const testID = "notes-4k7q2m9x3vt5"

// serverFile writes the file of a server into a new directory of a configuration.
func serverFile(t *testing.T, name, text string) (configDir string) {
	t.Helper()
	configDir = t.TempDir()
	dir := filepath.Join(configDir, ServersDir)
	testkit.Must(t, os.MkdirAll(dir, 0o700))
	testkit.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	return configDir
}

const notesFile = "[servers.notes]\nid = \"" + testID + "\"\ncommand = \"npx\"\n"

// TestFindServerFile tests that a file is found by its id, whatever its name is, and what is refused.
func TestFindServerFile(t *testing.T) {
	fill := strings.NewReplacer("$NOTES", notesFile, "$ID", testID)
	for _, row := range testkit.Rows(t, "server_files.txt", 2) {
		text, want := fill.Replace(row[0]), fill.Replace(row[1])
		f, err := FindServerFile(serverFile(t, "notes.toml", text), testID)
		switch {
		case want == "":
			if err != nil || f.Server.Command != "npx" {
				t.Errorf("%s: %+v, %v", text, f, err)
			}
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	dir := serverFile(t, "notes.toml", notesFile)
	twin := filepath.Join(dir, ServersDir, "twin.toml")
	testkit.Must(t, os.WriteFile(twin, []byte(strings.ReplaceAll(notesFile, "servers.notes", "servers.twin")), 0o600))
	if _, err := FindServerFile(dir, testID); err == nil || !strings.Contains(err.Error(), "notes.toml") || !strings.Contains(err.Error(), "twin.toml") {
		t.Errorf("two files with one id: %v", err)
	}
	testkit.Must(t, os.Remove(twin))
	// A broken file of another server stops nothing, and a link is no file of ours.
	testkit.Must(t, os.WriteFile(twin, []byte("[servers.twin\n"), 0o600))
	if _, err := FindServerFile(dir, testID); err != nil {
		t.Error(err)
	}
	own := filepath.Join(dir, ServersDir, "notes.toml")
	testkit.Must(t, errors.Join(os.Rename(own, filepath.Join(dir, "elsewhere")), os.Symlink("../elsewhere", own)))
	if _, err := FindServerFile(dir, testID); err == nil {
		t.Error("a link was read")
	}
}

// TestServerKeysElsewhere tests that no other configuration has the keys of such a file.
func TestServerKeysElsewhere(t *testing.T) {
	for _, key := range []string{`id = "` + testID + `"`, `directory = "~"`} {
		file := filepath.Join(t.TempDir(), "config.toml")
		testkit.Must(t, os.WriteFile(file, []byte("[servers.s]\ncommand = \"x\"\n"+key+"\n"), 0o600))
		if _, err := Load(LoadOptions{Files: []string{file}}); err == nil || !strings.Contains(err.Error(), "config.toml:1: servers.s: id and directory") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestChangeServers tests that writers at the same time lose nothing of one another, that what is written is
// read as it was, and that a file which cannot be used is never replaced.
func TestChangeServers(t *testing.T) {
	dir := serverFile(t, "broken.toml", "[servers.broken\n")
	const writers, each = 4, 10
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range each {
				err := ChangeServers(dir, func(files []*ServerFile, broken []error) ([]*ServerFile, error) {
					if len(broken) != 1 {
						return nil, fmt.Errorf("broken: %v", broken)
					}
					if len(files) == 0 {
						files = append(files, &ServerFile{filepath.Join(dir, ServersDir, "notes.toml"), &Server{Name: "notes", ID: testID, Command: "npx", Access: &Access{}}})
					}
					a := files[0].Server.Access
					a.Fs = append(a.Fs, policy.FsRule{Path: fmt.Sprintf("/%d/%d", w, n), Read: true})
					return files, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	f, err := FindServerFile(dir, testID)
	if err != nil || len(f.Server.Access.Fs) != writers*each {
		t.Fatalf("%+v, %v", f, err)
	}
	path := filepath.Join(dir, ServersDir, "broken.toml")
	err = ChangeServers(dir, func(files []*ServerFile, _ []error) ([]*ServerFile, error) {
		return append(files, &ServerFile{path, &Server{Name: "broken", ID: "broken-4k7q2m9x3vt5", Command: "x"}}), nil
	})
	if text, _ := os.ReadFile(path); err == nil || string(text) != "[servers.broken\n" {
		t.Errorf("%v: the file has %s", err, text)
	}
	err = ChangeServers(dir, func(files []*ServerFile, _ []error) ([]*ServerFile, error) {
		files[0].Server.Home = "none"
		return files, nil
	})
	if after, _ := FindServerFile(dir, testID); err == nil || after == nil || after.Server.Home != "" {
		t.Errorf("%v: %+v", err, after)
	}
}

// TestServerFileNarrowed tests that a trusted project's file takes away from a server with a file of its own, and
// that one which is not trusted stops it if it may be about it.
func TestServerFileNarrowed(t *testing.T) {
	o, project := layersIn(t)
	o.User = filepath.Join(serverFile(t, "notes.toml", notesFile+"access.fs = [{ path = \"~/n\", read = true }]\n"), "config.toml")
	o.ID = testID
	for _, row := range testkit.Rows(t, "narrowed_files.txt", 2) {
		text, want := row[0], row[1]
		o.Project = []byte(text)
		c, err := Load(o)
		if err != nil {
			if !strings.Contains(err.Error(), want) || want == "" || want == "~/n" {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		p, err := c.Policy("notes", "")
		testkit.Must(t, err)
		got := granted(p)
		if p.Narrow != nil {
			got = granted(p.Narrow)
		}
		if p.Leaks == policy.LeaksBlock {
			got = append(got, p.Leaks)
		}
		if strings.Join(got, " ") != want || p.Command != "npx" || p.Project != "" {
			t.Errorf("%s: %+v allows %s, want %s", text, p, got, want)
		}
	}
	o.Project = nil
	for text, stops := range map[string]bool{"[servers.notes]\n": true, "[servers.\"no\\u0074es\"]\n": true, "[servers.other]\n": false} {
		testkit.Must(t, os.WriteFile(project, []byte(text), 0o600))
		if _, err := Load(o); errors.As(err, new(*UntrustedError)) != stops || (err != nil) != stops {
			t.Errorf("%s that is not trusted: %v", text, err)
		}
	}
}
