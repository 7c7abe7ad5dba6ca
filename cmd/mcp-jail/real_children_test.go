//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// shell starts a session with the exec server of node, in the default policy.
func shell(t *testing.T, w *world, flags ...string) *session {
	t.Helper()
	args := append(flags, "--", "node", w.fixture(t, "exec.mjs"))
	return open(t, w.jail(args...), nil)
}

func TestRealShell(t *testing.T) {
	need(t, "node")
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"words.txt": "b\na\nb\n"})
	s := shell(t, w)
	for script, want := range map[string]string{
		`sort words.txt | uniq -c | sort -rn | head -1 | tr -s ' '`: " 2 b\n\n",
		`(echo sub; (echo subsub) & wait) | cat`:                    "sub\nsubsub\n\n",
		`cat <<EOF | sed s/x/y/
x
EOF`: "y\n\n",
		`mkfifo p && (echo through >p &) && cat p && rm p`:                                                                                                       "through\n\n",
		`trap 'echo caught' TERM; kill -TERM $$; echo after`:                                                                                                     "caught\nafter\n\n",
		`i=0; while [ $i -lt 50 ]; do (true) & i=$((i+1)); done; wait; echo done`:                                                                                "done\n\n",
		`printf '#!/bin/sh\necho from tmp\n' >$TMPDIR/x && chmod +x $TMPDIR/x && $TMPDIR/x`:                                                                      "from tmp\n\n",
		`find . -name '*.txt' -exec wc -l {} + && cp words.txt c.txt && ln -s c.txt l && mv c.txt d.txt && rm l d.txt && ls`:                                     "3 ./words.txt\nwords.txt\n\n",
		`ps -e >/dev/null 2>&1 || ls -d /proc/[0-9]* >/dev/null; test -r /proc/self/status && test ! -e /proc/` + fmt.Sprint(os.Getpid()+100000) + ` && echo ok`: "ok\n\n",
		`echo "$HOME" | grep -c servers/ && touch ~/mine && ls ~ && rm ~/mine`:                                                                                   "1\nmine\n\n",
	} {
		if got := s.runs("sh", "-c", script); got != want {
			t.Errorf("%s\n got %q\nwant %q", script, got, want)
		}
	}
	s.refused("", "sh", "-c", "cat "+w.home+"/.ssh/id_ed25519")
	s.refused("", "sh", "-c", "echo x >"+w.base+"/outside")
	s.refused("", "sh", "-c", `test -n "$PLANTED_SECRET"`)
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d\nstderr: %s", status, &s.stderr)
	}
}

func TestRealNode(t *testing.T) {
	need(t, "node")
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"cluster.js": `
const cluster = require("cluster"), http = require("http");
if (cluster.isPrimary) {
	let up = 0;
	cluster.on("listening", (worker, at) => {
		if (++up !== 2) return;
		http.get({ host: "127.0.0.1", port: at.port }, (r) => r.on("data", (b) => console.log(String(b))).on("end", () => process.exit(0)));
	});
	cluster.fork();
	cluster.fork();
} else {
	http.createServer((q, r) => r.end("ok")).listen(18080, "127.0.0.1");
}
`})
	s := shell(t, w)
	for name, script := range map[string]string{
		"worker threads": `
			const { Worker } = require("worker_threads");
			let n = 0;
			for (let i = 0; i < 4; i++)
				new Worker("const {parentPort}=require('worker_threads'); let s=0; for(let i=0;i<1e6;i++) s+=i; parentPort.postMessage(s)", { eval: true })
					.on("message", (m) => { if (m === 499999500000 && ++n === 4) console.log("ok"); });`,
		"child_process": `
			const cp = require("child_process"), fs = require("fs");
			fs.writeFileSync("child.js", "process.on('message', (m) => { process.send(m * 2); process.disconnect(); })");
			const out = cp.execSync("echo shell").toString() + cp.spawnSync(process.execPath, ["-p", "6*7"]).stdout;
			if (out !== "shell\n42\n") throw new Error(out);
			cp.fork("./child.js").on("message", (m) => console.log(m === 42 ? "ok" : m)).send(21);`,
		"cluster": `
			const out = require("child_process").execFileSync(process.execPath, ["cluster.js"]);
			console.log(String(out).trim());`,
		"watcher": `
			const fs = require("fs");
			fs.mkdirSync("watched");
			fs.watch("watched", (what, name) => { if (name === "new.txt") { console.log("ok"); process.exit(0); } });
			setTimeout(() => fs.writeFileSync("watched/new.txt", "x"), 50);`,
		"unix socket": `
			const net = require("net");
			const server = net.createServer((c) => c.end("ok")).listen("s.sock", () =>
				net.connect("s.sock").on("data", (b) => { console.log(String(b)); server.close(); }));`,
		"webassembly and jit": `
			const m = new WebAssembly.Module(new Uint8Array([0,97,115,109,1,0,0,0]));
			let s = 0; for (let i = 0; i < 1e7; i++) s = (s + i) | 0;
			console.log(new WebAssembly.Instance(m) && s ? "ok" : s);`,
		"crypto, dns and inspect": `
			const os = require("os");
			require("crypto").randomBytes(8); os.cpus(); os.totalmem(); os.userInfo(); os.hostname(); os.networkInterfaces();
			require("dns").lookup("localhost", (e, a) => console.log(e ? String(e) : "ok"));`,
	} {
		if got := strings.TrimSpace(s.runs("node", "-e", script)); got != "ok" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if out := s.refused("", "node", "-e", `require("net").connect(`+hostPort(t)+`, "127.0.0.1").on("error", (e) => { console.log(e.code); process.exit(1) }).on("connect", () => process.exit(0))`); !strings.Contains(out, "ECONNREFUSED") && !strings.Contains(out, "EACCES") && !strings.Contains(out, "ENETUNREACH") {
		t.Errorf("a connection to the host: %s", out)
	}
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

// hostPort is a port that the host listens at.
func hostPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// pythons are the programs that the Python tests use: the first python3 of PATH,
// which may be a version manager's, and the system's.
func pythons(t *testing.T) []string {
	t.Helper()
	need(t, "python3")
	found, _ := exec.LookPath("python3")
	list := []string{found}
	if _, err := os.Stat("/usr/bin/python3"); err == nil && found != "/usr/bin/python3" {
		list = append(list, "/usr/bin/python3")
	}
	return list
}

func TestRealPython(t *testing.T) {
	t.Parallel()
	for _, python := range pythons(t) {
		t.Run(strings.Trim(strings.ReplaceAll(filepath.Dir(python), "/", "-"), "-"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := open(t, w.jail("--", python, w.fixture(t, "exec.py")), nil)
			for name, script := range map[string]string{
				"threads": `
import threading
n = []
ts = [threading.Thread(target=lambda: n.append(sum(range(10000)))) for _ in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
print("ok" if len(n) == 8 else n)`,
				"fork": `
import os
r, w = os.pipe()
if os.fork() == 0:
    os.write(w, b"ok"); os._exit(0)
os.wait(); print(os.read(r, 9).decode())`,
				"subprocess": `
import subprocess
print(subprocess.run("echo a | tr a o && printf k", shell=True, capture_output=True, text=True).stdout.replace("\n", ""))`,
				"pty": `
import os, pty
out = []
def reader(fd):
    b = os.read(fd, 1024); out.append(b); return b
status = pty.spawn(["sh", "-c", "test -t 0 && test -t 1 && tty && stty size >/dev/null && echo in a terminal"], reader)
assert status == 0 and b"/dev/pts/" in b"".join(out), (status, out)
print("ok")`,
				"sqlite": `
import sqlite3
a = sqlite3.connect("w.db"); assert a.execute("pragma journal_mode=wal").fetchone() == ("wal",)
a.execute("create table t (x)"); a.execute("insert into t values (1)"); a.commit()
b = sqlite3.connect("w.db"); assert b.execute("select x from t").fetchall() == [(1,)]
a.execute("begin immediate")
try: b.execute("pragma busy_timeout=1"); b.execute("begin immediate")
except sqlite3.OperationalError as e: assert "locked" in str(e)
else: raise SystemExit("both have the lock")
import os; assert os.path.exists("w.db-shm"); print("ok")`,
				"locks and mmap": `
import fcntl, mmap, os
f = open("m", "w+b"); f.truncate(4096); fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX)
m = mmap.mmap(f.fileno(), 4096); m[0:2] = b"ok"; m.flush(); print(open("m").read(2)); os.remove("m")`,
				"temporary files": `
import tempfile, os
with tempfile.NamedTemporaryFile() as f, tempfile.TemporaryDirectory() as d, tempfile.TemporaryFile() as g:
    f.write(b"x"); open(d + "/y", "w").close(); print("ok" if f.name.startswith("/tmp/") else f.name)`,
				"asyncio": `
import asyncio
async def main():
    async def hello(r, w): w.write(b"ok"); await w.drain(); w.close()
    server = await asyncio.start_server(hello, "127.0.0.1", 0)
    r, w = await asyncio.open_connection(*server.sockets[0].getsockname())
    print((await r.read()).decode()); w.close()
    p = await asyncio.create_subprocess_exec("true"); assert await p.wait() == 0
asyncio.run(main())`,
				"imports": `
import ssl, ctypes, socket, select, multiprocessing.shared_memory as sm
m = sm.SharedMemory(create=True, size=64); m.buf[0] = 1; m.close(); m.unlink()
ssl.create_default_context(); socket.socketpair(); select.epoll(); print("ok")`,
				"user": `
import os, pwd, getpass
print("ok" if pwd.getpwuid(os.getuid()).pw_name and os.path.expanduser("~") == os.environ["HOME"] else "no")`,
			} {
				if got := strings.Fields(s.runs("python", "-c", script)); len(got) == 0 || got[len(got)-1] != "ok" {
					t.Errorf("%s: %q", name, got)
				}
			}
			for _, method := range []string{"fork", "spawn", "forkserver"} {
				file := "mp_" + method + ".py"
				w.plant(t, w.work, map[string]string{file: `
import multiprocessing
def square(x): return x * x
if __name__ == "__main__":
    c = multiprocessing.get_context("` + method + `")
    with c.Pool(2) as p: assert p.map(square, range(5)) == [0, 1, 4, 9, 16]
    q = c.Queue(); p = c.Process(target=q.put, args=("ok",)); p.start(); print(q.get()); p.join()
`})
				if got := strings.TrimSpace(s.runs("python", file)); got != "ok" {
					t.Errorf("multiprocessing, %s: %q", method, got)
				}
			}
			// An environment made inside of the jail, in the workspace.
			s.runs("python", "-m", "venv", "--without-pip", "env")
			if got := strings.TrimSpace(s.runs("python", "-c", `
import subprocess
r = subprocess.run(["env/bin/python", "-c", "import sys; print(sys.prefix != sys.base_prefix)"], capture_output=True, text=True)
print(r.stdout or r.stderr)`)); got != "True" {
				t.Errorf("an environment in the workspace: %s", got)
			}
			if status := s.close(); status != 0 {
				t.Errorf("exit status %d\nstderr: %s", status, &s.stderr)
			}

			// A server that an environment outside of the workspace runs.
			venv := filepath.Join(w.base, "venv")
			if out, err := w.plain(python, "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
				t.Fatalf("venv: %v: %s", err, out)
			}
			sites, _ := filepath.Glob(filepath.Join(venv, "lib", "python3*", "site-packages"))
			if len(sites) != 1 {
				t.Fatalf("site-packages: %q", sites)
			}
			w.plant(t, sites[0], map[string]string{"installed.py": "word = 'ok'\n"})
			s = open(t, w.jail("--", filepath.Join(venv, "bin", "python"), w.fixture(t, "exec.py")), nil)
			if got := strings.TrimSpace(s.runs("python", "-c", "import installed, sys; assert sys.prefix != sys.base_prefix; print(installed.word)")); got != "ok" {
				t.Errorf("venv: %q", got)
			}
			s.close()
		})
	}
}

func TestRealGit(t *testing.T) {
	need(t, "node", "git")
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, "GIT_CONFIG_NOSYSTEM=1")
	git := func(args ...string) {
		t.Helper()
		if out, err := w.plain(append([]string{"git"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	git("config", "user.name", "T")
	git("config", "user.email", "t@example.org")
	w.plant(t, w.work, map[string]string{"a.txt": "a\n", ".git/hooks/pre-commit.sample": "#!/bin/sh\n"})
	git("add", ".")
	git("commit", "-qm", "first")
	config := read(t, filepath.Join(w.work, ".git", "config"))

	s := shell(t, w)
	s.runs("sh", "-c", "echo b >b.txt && echo more >>a.txt")
	if got := s.runs("git", "status", "--short"); !strings.Contains(got, " M a.txt\n?? b.txt\n") {
		t.Errorf("status: %q", got)
	}
	s.runs("git", "add", ".")
	s.runs("git", "commit", "-qm", "second")
	s.runs("git", "branch", "side")
	s.runs("git", "checkout", "-q", "side")
	s.runs("sh", "-c", "echo c >c.txt && git add c.txt && git commit -qm third")
	s.runs("git", "checkout", "-q", "main")
	s.runs("git", "merge", "-q", "--no-edit", "side")
	s.runs("git", "diff", "HEAD~1", "--stat")
	s.runs("git", "stash", "list")
	s.runs("git", "tag", "v1")
	if got := s.runs("git", "log", "--format=%s"); got != "third\nsecond\nfirst\n\n" {
		t.Errorf("log: %q", got)
	}
	if got := s.runs("git", "worktree", "list"); !strings.Contains(got, w.work) {
		t.Errorf("worktree list: %q", got)
	}
	if got := s.runs("git", "config", "user.name"); got != "T\n\n" {
		t.Errorf(".git/config is not readable: %q", got)
	}
	s.refused("", "git", "config", "core.fsmonitor", "evil")
	s.refused("", "sh", "-c", "echo evil >>.git/config")
	s.refused("", "sh", "-c", "echo evil >.git/hooks/pre-commit")
	s.refused("", "sh", "-c", "mv .git/hooks .git/h2")
	s.refused("", "sh", "-c", "mv .git .git2")
	s.runs("git", "gc", "-q")
	s.runs("git", "fsck")
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d", status)
	}

	if got := read(t, filepath.Join(w.work, ".git", "config")); got != config {
		t.Errorf(".git/config was changed: %q", got)
	}
	if hooks := snapshot(t, filepath.Join(w.work, ".git", "hooks")); hooks["pre-commit"] != "" {
		t.Errorf("a hook was planted: %q", hooks)
	}
	git("fsck", "--strict")
}

// goServer is an MCP server in Go: the test binary under a variable.
const goServer = "MCPJAIL_TEST_GO_SERVER"

func TestRealGoServer(t *testing.T) {
	if os.Getenv(goServer) == "" {
		return // it is no test, but what TestRealGo starts
	}
	serve("go", []string{"probe"}, func(toolCall) (string, error) {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { runtime.LockOSThread(); runtime.Gosched() })
		}
		wg.Wait()
		out, err := exec.Command("sh", "-c", "echo child").Output()
		if err != nil {
			return "", err
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		defer l.Close()
		go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "loopback") }))
		r, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		var body bytes.Buffer
		body.ReadFrom(r.Body)
		_, sshErr := os.ReadDir(filepath.Join(filepath.Dir(os.Getenv("TEST_WORK")), "home", ".ssh"))
		return strings.TrimSpace(string(out)) + " " + body.String() + fmt.Sprint(" ", sshErr != nil), os.WriteFile("from-go.txt", []byte("x"), 0o644)
	})
	os.Exit(0)
}

func TestRealGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, goServer+"=1", "TEST_WORK="+w.work)
	self, err := os.Executable()
	must(t, err)
	s := open(t, w.jail("--env", goServer, "--env", "TEST_WORK", "--", self, "-test.run", "^TestRealGoServer$"), nil)
	if r := s.tool("probe", nil); r.texts() != "child loopback true\n" || r.IsError {
		t.Errorf("%s", r.raw)
	}
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d\nstderr: %s", status, &s.stderr)
	}
	if read(t, filepath.Join(w.work, "from-go.txt")) != "x" {
		t.Error("nothing was written")
	}
}

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
