//go:build linux

package main

import (
	"strings"
	"testing"
)

// TestNode tests what programs use of node: threads, processes, watchers, sockets,
// WebAssembly.
func TestNode(t *testing.T) {
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
	s := nodeSession(t, w)
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
		if got := strings.TrimSpace(s.mustRun("node", "-e", script)); got != "ok" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if out := s.mustFail("", "node", "-e", `require("net").connect(`+hostPort(t)+`, "127.0.0.1").on("error", (e) => { console.log(e.code); process.exit(1) }).on("connect", () => process.exit(0))`); !strings.Contains(out, "ECONNREFUSED") && !strings.Contains(out, "EACCES") && !strings.Contains(out, "ENETUNREACH") {
		t.Errorf("a connection to the host: %s", out)
	}
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}
