//go:build linux

package main

import (
	"io"

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

// registryFiles returns the files of an npm registry at url, by path. It has two
// packages. One needs the other, has an install script, and has directories with
// protected names.
func registryFiles(t *testing.T, url string) map[string]string {
	t.Helper()
	exec, err := os.ReadFile(filepath.Join("testdata", "real", "exec.mjs"))
	must(t, err)
	answers := map[string]string{}
	for name, files := range map[string]map[string]string{
		"jail-fixture": {
			"package.json": `{"name":"jail-fixture","version":"1.0.0","type":"module","bin":{"jail-fixture":"main.mjs"},
				"dependencies":{"jail-fixture-dep":"^1.0.0"},"scripts":{"postinstall":"node -e \"require('fs').writeFileSync('installed','by a script')\""}}`,
			"main.mjs":                 "#!/usr/bin/env node\nimport \"jail-fixture-dep\";\n" + string(exec),
			".vscode/settings.json":    "{}",
			".github/workflows/ci.yml": "on: push",
			".idea/x.xml":              "<x/>",
			".husky/pre-commit":        "true",
			".envrc":                   "true",
		},
		"jail-fixture-dep": {
			"package.json": `{"name":"jail-fixture-dep","version":"1.0.0","type":"module","exports":"./index.js"}`,
			"index.js":     "process.env.DEPENDENCY = 'loaded';\n",
		},
	} {
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
		archive := name + "/-/" + name + "-1.0.0.tgz"
		manifest["dist"] = map[string]string{"tarball": url + "/" + archive, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		document, _ := json.Marshal(map[string]any{"name": name, "dist-tags": map[string]string{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": manifest}})
		answers[name+"/index.json"], answers[archive] = string(document), b.String()
	}
	return answers
}

// registry serves the packages on the host.
func registry(t *testing.T) *httptest.Server {
	t.Helper()
	var files map[string]string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if document, ok := files[r.URL.Path[1:]+"/index.json"]; ok {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, document)
			return
		}
		io.WriteString(w, files[r.URL.Path[1:]])
	}))
	t.Cleanup(s.Close)
	files = registryFiles(t, s.URL)
	return s
}

// registryInside returns an exec server that also serves the packages, on the loopback of
// its own jail. mcp-jail tells npm that there is no network; npm must be told otherwise.
func registryInside(t *testing.T, w *world) (program, url string) {
	t.Helper()
	url = "http://127.0.0.1:4873"
	for name, content := range registryFiles(t, url) {
		w.plant(t, w.base, map[string]string{"server/registry/" + name: content})
	}
	w.fixture(t, "exec.mjs")
	w.plant(t, w.base, map[string]string{"server/package.json": "{}", "server/registry.mjs": `
import { createServer } from "node:http";
import { existsSync, readFileSync } from "node:fs";
createServer((request, response) => {
	let file = import.meta.dirname + "/registry" + request.url;
	if (existsSync(file + "/index.json")) file += "/index.json";
	if (existsSync(file)) response.end(readFileSync(file));
	else response.writeHead(404).end();
}).listen(4873, "127.0.0.1").unref();
await import("./exec.mjs");
`})
	return filepath.Join(w.base, "server", "registry.mjs"), url
}

// npmServer returns the recipe for the server of registryInside, and the URL of its registry.
func npmServer(t *testing.T, w *world) (recipe, string) {
	t.Helper()
	program, url := registryInside(t, w)
	return readRecipe(t, "packages", `command = "node-server"`, "command = \"node\"\narguments = [\""+program+"\"]"), url
}

// TestNpmInstall tests that npm installs packages with scripts into the workspace, and
// that their programs run. The packages have .vscode and similar directories, which are
// not protected below node_modules.
func TestNpmInstall(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	packages := func(t *testing.T, w *world) recipe {
		r, _ := npmServer(t, w)
		w.plant(t, w.work, map[string]string{"package.json": `{"name":"project","version":"1.0.0","scripts":{"use":"jail-fixture </dev/null"}}`})
		return r
	}
	checkMinimal(t, packages, useRun("sh", "-ec", `
		export npm_config_registry=http://127.0.0.1:4873 npm_config_offline=false npm_config_update_notifier=false npm_config_audit=false npm_config_fund=false
		npm install jail-fixture 2>&1
		test "$(cat node_modules/jail-fixture/installed)" = "by a script"
		cat node_modules/jail-fixture/.vscode/settings.json node_modules/jail-fixture/.github/workflows/ci.yml >/dev/null
		npm ci 2>&1
		npm run use 2>&1
	`), "node_modules/")

	// A later session finds the protected names and can still install.
	w := newWorld(t)
	r := packages(t, w)
	for range 2 {
		if got := w.attempt(t, r.name, r.config(r.access...), useRun("sh", "-ec", `
			npm install --registry http://127.0.0.1:4873 --offline=false --no-audit --no-fund jail-fixture 2>&1
			npm ci --registry http://127.0.0.1:4873 --offline=false --no-audit --no-fund 2>&1
			ls -d node_modules/jail-fixture/.vscode node_modules/jail-fixture/.github/workflows node_modules/jail-fixture/.envrc
		`)); got.IsError {
			t.Errorf("%s", got.texts())
		}
	}
}

// TestNpxCold tests that npx downloads and starts a package twice with a cache in the
// private HOME.
func TestNpxCold(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	program, url := registryInside(t, w)
	s := open(t, w.jail("--", "node", program), nil)
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
	for range 2 {
		out := s.mustRun("sh", "-c", `echo '`+hello+`' | npm_config_offline=false npx -y --registry `+url+` jail-fixture && ls ~/.npm`)
		if !strings.Contains(out, `"serverInfo":{"name":"exec"`) || !strings.Contains(out, "_cacache") {
			t.Errorf("%s", out)
		}
	}
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d\nstderr: %s", status, &s.stderr)
	}
	if left := snapshot(t, w.work); len(left) != 1 {
		t.Errorf("left in the workspace: %q", left)
	}
}

// configured writes a configuration with a server of one command line.
func (w *world) configured(t *testing.T, name string, argv ...string) (file string) {
	t.Helper()
	arguments, err := json.Marshal(argv[1:])
	must(t, err)
	w.plant(t, w.base, map[string]string{name + ".toml": "version = 1\n[servers." + name + "]\ncommand = \"" + argv[0] + "\"\narguments = " + string(arguments) + "\n"})
	return filepath.Join(w.base, name+".toml")
}

// TestNpxCached tests that npx starts a package in the cache of the private HOME without a
// network.
func TestNpxCached(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	argv := []string{"npx", "-y", "jail-fixture"}
	var plan struct {
		Profile struct {
			Env []struct{ Name, Value string } `json:"env"`
		} `json:"profile"`
	}
	must(t, json.Unmarshal([]byte(w.output(t, "plan", "--format", "json", "--config", w.configured(t, "fixture", argv...), "fixture")), &plan))
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

	// The control fills the cache: npx outside a jail, with the private HOME.
	fill := w.plain(argv...)
	fill.Env = append(fill.Env[:len(fill.Env):len(fill.Env)], "HOME="+home)
	s := open(t, fill, nil)
	if got := s.mustRun("sh", "-c", "echo $DEPENDENCY"); got != "loaded\n\n" {
		t.Fatalf("the package does not work: %q", got)
	}
	s.close()

	for _, flag := range []string{"--no-install", "--offline"} {
		config := w.configured(t, "fixture", "npx", flag, "jail-fixture")
		s := open(t, w.jail("--config", config, "fixture"), nil)
		if got := s.mustRun("sh", "-c", "echo $DEPENDENCY $npm_config_offline"); !strings.HasPrefix(got, "loaded true\n") {
			t.Errorf("npx %s: %q", flag, got)
		}
		s.mustFail("", "sh", "-c", "ls "+w.home+"/.ssh")
		if status := s.close(); status != 0 {
			t.Errorf("npx %s: exit status %d\nstderr: %s", flag, status, &s.stderr)
		}
	}
}

// TestNpxInstalled starts a package that is installed in the workspace. The workspace
// needs a rule with execute, since its programs are not in the baseline.
func TestNpxInstalled(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	s := open(t, w.jail("--workspace", os.Getenv("MCPJAIL_SERVERS"), "--read", ".", "--execute", ".", "--", "npx", "mcp-server-sequential-thinking"), nil)
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

// TestNpxAbsent tests the diagnosis of npx without a network and a cache, where npx
// itself would print nothing for a minute.
func TestNpxAbsent(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	s := start(t, w.jail("--config", w.configured(t, "absent", "npx", "--no-install", "no-such-package-jail"), "absent"))
	m := s.call("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
	var failure struct {
		Code    int
		Message string
		Data    map[string]struct{ Stage, Attribution, Hint string }
	}
	must(t, json.Unmarshal(m.Error, &failure))
	d := failure.Data["dev.mcp-jail/failure"]
	if failure.Code != -31002 || d.Stage != "boot" || d.Attribution != "likely" || !strings.Contains(d.Hint, "grants no network") || !strings.Contains(d.Hint, "npx -y PACKAGE") {
		t.Errorf("%s", m.Error)
	}
	if status := s.close(); status == 0 {
		t.Error("exit status 0")
	}
}
