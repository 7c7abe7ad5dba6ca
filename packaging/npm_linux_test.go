package packaging_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// npmWorld is the machine of a user. Its PATH has node, npm, npx, sh and env.
type npmWorld struct {
	base, home, project, path string
	env                       []string
	server                    []string // the command line of an MCP server
}

// newNPMWorld packs the packages of a release with npm, and publishes them on loopback.
func newNPMWorld(t *testing.T) *npmWorld {
	t.Helper()
	testkit.NeedsLong(t)
	if _, err := exec.LookPath("npm"); err != nil {
		testkit.Skip(t, "npm", "%v", err)
	}
	w := &npmWorld{base: directory(t)}
	w.home, w.project, w.path = ownDirectory(t, w.base+"/home"), ownDirectory(t, w.base+"/project"), w.base+"/path"
	site := registry.Start(t, registry.Stock{Packages: packed(t, w.base)})
	w.env = append(registry.Environ(site.URL, w.home), "PATH="+w.path, "TMPDIR="+ownDirectory(t, w.base+"/tmp"), "USER=stranger")
	testkit.Must(t, os.Mkdir(w.path, 0o755))
	for _, name := range []string{"node", "npm", "npx", "sh", "env"} {
		file, err := exec.LookPath(name)
		testkit.Must(t, err)
		testkit.Must(t, os.Symlink(file, filepath.Join(w.path, name)))
	}
	write(t, w.project+"/package.json", `{"name": "greeter", "version": "1.0.0", "private": true}`)
	for name, text := range (registry.MCPServer{Name: "greeter"}).Package().Files {
		write(t, filepath.Join(w.project, name), text)
	}
	w.server = []string{"node", filepath.Join(w.project, "server.cjs")}
	return w
}

// npmTargets are the systems and processors that npm has programs for.
var npmTargets = []string{"linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64", "win32-arm64"}

// otherPrograms makes files that have the names of the programs of another system, and returns their
// directory. They cannot be started, and npm packs them a hundred times as fast as programs.
func otherPrograms(t *testing.T, base, target string) string {
	t.Helper()
	dir, ending := ownDirectory(t, base+"/programs-"+target), ""
	if strings.HasPrefix(target, "win32-") {
		ending = ".exe"
	}
	for _, name := range []string{"mcp-jail", "mcp-jail-cli", "mcp-jail-tls"} {
		write(t, dir+"/"+name+ending, target)
	}
	return dir
}

// packed returns the packages as npm pack makes them.
func packed(t *testing.T, base string) (all []registry.Package) {
	t.Helper()
	stage := []string{"npm/stage.mjs", version, base + "/staged"}
	for _, name := range npmTargets {
		from := ""
		if name == "linux-"+processor() {
			from = programs(t)
		} else { // npm must leave the other ones out
			from = otherPrograms(t, base, name)
		}
		stage = append(stage, name+"="+from)
	}
	run(t, exec.Command("node", stage...))
	for _, name := range append([]string{"mcp-jail"}, npmTargets...) {
		dir := filepath.Join(base, "packed", name)
		testkit.Must(t, os.MkdirAll(dir, 0o755))
		pack := exec.Command("npm", "pack", "--json", "--pack-destination", dir)
		pack.Dir, pack.Env = filepath.Join(base, "staged", name), append(os.Environ(), "npm_config_update_notifier=false", "npm_config_cache="+base+"/npm-cache")
		run(t, pack)
		tarballs, err := filepath.Glob(dir + "/*.tgz")
		if err != nil || len(tarballs) != 1 {
			t.Fatal(tarballs, err)
		}
		run(t, exec.Command("tar", "-C", dir, "-xzf", tarballs[0]))
		p, err := registry.FromDir(dir + "/package")
		testkit.Must(t, err)
		if p.Version != version || p.Files["LICENSE"] == "" || p.Files["THIRD_PARTY_LICENSES"] == "" {
			t.Errorf("%s %s has %d files", p.Name, p.Version, len(p.Files))
		}
		all = append(all, p)
	}
	return all
}

// command returns a command of the user.
func (w *npmWorld) command(args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	if !filepath.IsAbs(args[0]) {
		cmd.Path, cmd.Err = filepath.Join(w.path, args[0]), nil
	}
	cmd.Env, cmd.Dir = w.env, w.project
	return asUser(cmd)
}

// npx returns what npx mcp-jail ARG... says, which must succeed.
func (w *npmWorld) npx(t *testing.T, args ...string) string {
	t.Helper()
	return run(t, w.command(append([]string{"npx", "-y", "mcp-jail"}, args...)...))
}

// TestNPM tries the packages as an ordinary user with nothing but node.
func TestNPM(t *testing.T) {
	w := newNPMWorld(t)
	t.Run("npx", func(t *testing.T) { testNPX(t, w) })
	t.Run("launcher", func(t *testing.T) { testLauncher(t, w) })
}

// testNPX wraps a server with npx alone.
func testNPX(t *testing.T, w *npmWorld) {
	if said := w.npx(t, "--version"); !strings.HasPrefix(said, "mcp-jail "+version+"\ncommit   0123456789\ngo       go1.") {
		t.Errorf("version: %s", said)
	}
	if other, _ := filepath.Glob(w.home + "/.npm/_npx/*/node_modules/@mcp-jail/*"); len(other) != 1 || filepath.Base(other[0]) != "linux-"+processor() {
		t.Errorf("npm installed %s", other)
	}
	mistake := w.command("npx", "-y", "mcp-jail", "no-such-command")
	if out, _ := mistake.CombinedOutput(); mistake.ProcessState.ExitCode() != 2 {
		t.Errorf("a mistake: %s\n%s", mistake.ProcessState, out)
	}
	file, kept := ownDirectory(t, w.home+"/.cursor")+"/mcp.json", w.home+"/.local/share/mcp-jail/bin/mcp-jail"
	before := fmt.Sprintf(`{"mcpServers": {"greeter": {"command": %q, "args": [%q]}}}`, w.server[0], w.server[1])
	write(t, file, before)
	if os.Getuid() == 0 && os.Chown(file, stranger, stranger) != nil {
		t.Fatal(file)
	}
	if said := w.npx(t, "wrap", "--dry-run"); !strings.Contains(said, "\nThe clients will start ~/.local/share/mcp-jail/bin/mcp-jail, a copy") || testkit.ReadFile(t, file) != before {
		t.Errorf("wrap --dry-run: %s", said)
	}
	if _, err := os.Stat(kept); err == nil {
		t.Error("--dry-run made a copy")
	}
	if f, err := confine.Probe().Has("userns"); err != nil || f.Answer != confine.Yes {
		testkit.Skip(t, "userns", "an ordinary user can build no jail: %s", f.Detail)
	}
	w.npx(t, "wrap", "--yes")
	w.wrapped(t, file, kept)
	if said := w.npx(t, "status"); !strings.Contains(strings.Join(strings.Fields(said), " "), "greeter Cursor yes ") {
		t.Errorf("status: %s", said)
	}
	write(t, kept, "an older version")
	if said := w.npx(t, "wrap", "--yes"); !strings.Contains(said, "replaced: ~/.local/share/mcp-jail/bin/mcp-jail") || len(testkit.ReadFile(t, kept)) < 1e6 {
		t.Errorf("wrap of a newer version: %s", said)
	}
	if w.npx(t, "unwrap", "--yes"); testkit.ReadFile(t, file) != before {
		t.Errorf("unwrap left %s", testkit.ReadFile(t, file))
	}
}

// wrapped starts the line that wrap wrote, after npx has emptied its cache.
func (w *npmWorld) wrapped(t *testing.T, file, program string) {
	t.Helper()
	var config struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	testkit.Must(t, json.Unmarshal([]byte(testkit.ReadFile(t, file)), &config))
	entry := config.MCPServers["greeter"]
	if entry.Command != program {
		t.Fatalf("the client is to start %s", entry.Command)
	}
	testkit.Must(t, os.Rename(w.home+"/.npm", w.home+"/.npm-gone"))
	s := start(t, w.command(append([]string{entry.Command}, entry.Args...)...))
	s.stdin.Close()
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("at its end: %v", err)
	}
	testkit.Must(t, os.Rename(w.home+"/.npm-gone", w.home+"/.npm"))
}

// session is a session that has answered the client's first message.
type session struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout io.Reader
}

// end waits for the end of a session without ending it. The program has standard output as long
// as it runs, even if its launcher has ended.
func (s session) end(t *testing.T) string {
	t.Helper()
	testkit.Must(t, s.stdout.(*os.File).SetReadDeadline(time.Now().Add(testkit.Patience)))
	if _, err := io.Copy(io.Discard, s.stdout); err != nil {
		t.Errorf("the program goes on: %v", err)
	}
	s.stdin.Close()
	s.cmd.Wait()
	return s.cmd.ProcessState.String()
}

// start starts a server, and waits for its answer.
func start(t *testing.T, cmd *exec.Cmd) session {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	testkit.Must(t, err)
	stdout, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	var problems strings.Builder
	cmd.Stderr = &problems
	testkit.Must(t, cmd.Start())
	io.WriteString(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`+"\n")
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.Contains(line, `"name":"greeter"`) {
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatalf("%s: %q, %v, %s", strings.Join(cmd.Args, " "), line, err, problems.String())
	}
	return session{cmd, stdin, stdout}
}

// testLauncher compares the launcher with the program: signals, and the exit status.
func testLauncher(t *testing.T, w *npmWorld) {
	if f, err := confine.Probe().Has("userns"); err != nil || f.Answer != confine.Yes {
		testkit.Skip(t, "userns", "an ordinary user can build no jail: %s", f.Detail)
	}
	install := w.command("npm", "install", "--no-audit", "mcp-jail")
	install.Dir = ownDirectory(t, w.base+"/installed")
	run(t, install)
	modules := filepath.Join(install.Dir, "node_modules")
	launcher, program := modules+"/.bin/mcp-jail", modules+"/@mcp-jail/linux-"+processor()+"/bin/mcp-jail"
	for _, args := range [][]string{{"version"}, {"run", "--", "no-such-program"}, {"run", "--no-such-flag"}} {
		through, direct := w.command(append([]string{launcher}, args...)...), w.command(append([]string{program}, args...)...)
		gotText, _ := through.Output()
		wantText, _ := direct.Output()
		if string(gotText) != string(wantText) || through.ProcessState.ExitCode() != direct.ProcessState.ExitCode() {
			t.Errorf("%s: %s %s\nand without the launcher: %s %s", args, through.ProcessState, gotText, direct.ProcessState, wantText)
		}
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		var ends []string
		for _, file := range []string{launcher, program} {
			s := start(t, w.command(append([]string{file, "run", "--name", "greeter", "--read", w.project, "--"}, w.server...)...))
			testkit.Must(t, s.cmd.Process.Signal(signal))
			ends = append(ends, s.end(t))
		}
		if ends[0] != ends[1] {
			t.Errorf("after %s it ends with %s, and without the launcher with %s", signal, ends[0], ends[1])
		}
	}
}

// TestNPMRefusals tests what the launcher says where there is no program for it.
func TestNPMRefusals(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		testkit.Skip(t, "npm", "%v", err)
	}
	const launcher = "./npm/mcp-jail/bin/mcp-jail.js"
	for _, c := range testkit.Table[struct{ platform, processor, says string }](t, "platforms.txt") {
		script := fmt.Sprintf(`for (const [k, v] of [["platform", %q], ["arch", %q]]) Object.defineProperty(process, k, { value: v });
			require(%q)`, c.platform, c.processor, launcher)
		cmd := exec.Command("node", "-e", script)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), c.says) {
			t.Errorf("%s %s: %s, it says: %s", c.platform, c.processor, cmd.ProcessState, out)
		}
	}
}

// TestNPMWindows: on Windows the launcher starts mcp-jail.exe of its package, with every word and the streams
// as they are, and waits for its end. A console sends its events to the program itself. A script is in the
// place of the program, and node is told that this is Windows.
func TestNPMWindows(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		testkit.Skip(t, "npm", "%v", err)
	}
	modules := directory(t) + "/node_modules"
	for _, dir := range []string{"/mcp-jail/bin", "/@mcp-jail/win32-x64/bin"} {
		testkit.Must(t, os.MkdirAll(modules+dir, 0o755))
	}
	launcher, program := modules+"/mcp-jail/bin/mcp-jail.js", modules+"/@mcp-jail/win32-x64/bin/mcp-jail.exe"
	write(t, launcher, testkit.ReadFile(t, "npm/mcp-jail/bin/mcp-jail.js"))
	write(t, modules+"/@mcp-jail/win32-x64/package.json", `{"name": "@mcp-jail/win32-x64"}`)
	write(t, program, "#!/bin/sh\nprintf '<%s>' \"$@\"; echo; read -r line; echo \"$line\"; exit 7\n")
	testkit.Must(t, os.Chmod(program, 0o755))
	words := []string{"run", "a b", "%PATH%", "x&calc", `q"r\`, "", "$HOME"}
	script := fmt.Sprintf(`for (const [k, v] of [["platform", "win32"], ["arch", "x64"]]) Object.defineProperty(process, k, { value: v });
		require(%q);
		process.on("SIGINT", () => console.log("interrupted"));`, launcher)
	cmd := exec.Command("node", append([]string{"-e", script, "--", launcher}, words...)...)
	in, err := cmd.StdinPipe()
	testkit.Must(t, err)
	out, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	lines := bufio.NewReader(out)
	if got, err := lines.ReadString('\n'); got != "<"+strings.Join(words, "><")+">\n" {
		t.Errorf("the words are %q, %v", got, err)
	}
	testkit.Must(t, cmd.Process.Signal(syscall.SIGINT))
	if got, err := lines.ReadString('\n'); got != "interrupted\n" {
		t.Errorf("after the interrupt: %q, %v", got, err)
	}
	io.WriteString(in, "typed\n")
	if got, _ := io.ReadAll(lines); string(got) != "typed\n" {
		t.Errorf("it says %q", got)
	}
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("it ends with %s", cmd.ProcessState)
	}
}
