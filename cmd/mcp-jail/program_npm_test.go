//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// registry serves two packages, one of which needs the other, as npm's does.
func registry(t *testing.T) *httptest.Server {
	t.Helper()
	exec, err := os.ReadFile(filepath.Join("testdata", "real", "exec.mjs"))
	must(t, err)
	packages := map[string]map[string]string{
		"jail-fixture": {
			"package.json": `{"name":"jail-fixture","version":"1.0.0","type":"module","bin":{"jail-fixture":"main.mjs"},"dependencies":{"jail-fixture-dep":"^1.0.0"}}`,
			"main.mjs":     "#!/usr/bin/env node\nimport \"jail-fixture-dep\";\n" + string(exec),
		},
		"jail-fixture-dep": {
			"package.json": `{"name":"jail-fixture-dep","version":"1.0.0","type":"module","exports":"./index.js"}`,
			"index.js":     "process.env.DEPENDENCY = 'loaded';\n",
		},
	}
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	for name, files := range packages {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		tw := tar.NewWriter(z)
		for file, content := range files {
			must(t, tw.WriteHeader(&tar.Header{Name: "package/" + file, Mode: 0o755, Size: int64(len(content))}))
			tw.Write([]byte(content))
		}
		tw.Close()
		z.Close()
		var manifest map[string]any
		must(t, json.Unmarshal([]byte(files["package.json"]), &manifest))
		sum := sha512.Sum512(b.Bytes())
		manifest["dist"] = map[string]string{
			"tarball": s.URL + "/" + name + "/-/" + name + "-1.0.0.tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
		}
		document, _ := json.Marshal(map[string]any{"name": name, "dist-tags": map[string]string{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": manifest}})
		mux.HandleFunc("/"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Write(document)
		})
		mux.HandleFunc("/"+name+"/-/", func(w http.ResponseWriter, _ *http.Request) { w.Write(b.Bytes()) })
	}
	return s
}

// A package in the cache of the server's private HOME starts without a network.
func TestRealNpxCached(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	argv := []string{"npx", "-y", "jail-fixture"}
	var plan struct {
		Profile struct {
			Env []struct{ Name, Value string } `json:"env"`
		} `json:"profile"`
	}
	must(t, json.Unmarshal([]byte(w.say(t, append([]string{"plan", "--format", "json", "--name", "fixture", "--"}, argv...)...)), &plan))
	home := ""
	for _, v := range plan.Profile.Env {
		if v.Name == "HOME" {
			home = v.Value
		}
	}
	if !strings.HasPrefix(home, w.home+"/") {
		t.Fatalf("the private HOME is %q", home)
	}
	w.plant(t, home, map[string]string{".npmrc": "registry=" + registry(t).URL + "/\nupdate-notifier=false\n"})

	// The control, and what fills the cache: outside of the jail, with its HOME.
	fill := w.plain(argv...)
	fill.Env = append(fill.Env[:len(fill.Env):len(fill.Env)], "HOME="+home)
	s := open(t, fill, nil)
	if got := s.runs("sh", "-c", "echo $DEPENDENCY"); got != "loaded\n\n" {
		t.Fatalf("the package does not work: %q", got)
	}
	s.close()

	for _, flags := range [][]string{{}, {"--offline"}} {
		s := open(t, w.jail(append([]string{"--name", "fixture", "--", "npx"}, append(flags, argv[1:]...)...)...), nil)
		if got := s.runs("sh", "-c", "echo $DEPENDENCY $npm_config_offline"); !strings.HasPrefix(got, "loaded true\n") {
			t.Errorf("npx %q: %q", flags, got)
		}
		s.refused("", "sh", "-c", "ls "+w.home+"/.ssh")
		if status := s.close(); status != 0 {
			t.Errorf("npx %q: exit status %d\nstderr: %s", flags, status, &s.stderr)
		}
	}
}

// A package that the workspace has installed. The workspace has to be granted
// with execute: its programs are no part of the baseline.
func TestRealNpxInstalled(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	config := filepath.Join(w.base, "c.toml")
	must(t, os.WriteFile(config, []byte(`version = 1
[servers.thinking]
command = "npx"
arguments = ["mcp-server-sequential-thinking"]
workspace = "`+os.Getenv("MCPJAIL_SERVERS")+`"
[[servers.thinking.access.fs]]
path = "."
read = true
execute = true
`), 0o644))
	s := open(t, w.jail("--config", config, "thinking"), nil)
	if tools := s.tools(); len(tools) != 1 {
		t.Errorf("tools: %q", tools)
	}
	if r := s.tool("sequentialthinking", map[string]any{"thought": "x", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}); r.IsError {
		t.Error(r.texts())
	}
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d\nstderr: %s", status, &s.stderr)
	}
}

// Without a network and a cache npx would be silent for a minute.
func TestRealNpxAbsent(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	s := start(t, w.jail("--", "npx", "-y", "no-such-package-jail"))
	m := s.call("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
	var failure struct {
		Code    int
		Message string
		Data    map[string]struct{ Stage, Attribution, Hint string }
	}
	must(t, json.Unmarshal(m.Error, &failure))
	d := failure.Data["dev.mcp-jail/failure"]
	if failure.Code != -31002 || d.Stage != "boot" || d.Attribution != "likely" || !strings.Contains(d.Hint, "no network") || !strings.Contains(d.Hint, "--net ") {
		t.Errorf("%s", m.Error)
	}
	if status := s.close(); status == 0 {
		t.Error("exit status 0")
	}
}
