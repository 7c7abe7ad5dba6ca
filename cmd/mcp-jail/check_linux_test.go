package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// refusedStart is a fault because of which a server does not start. The entry a of ~/.claude.json starts mcp-jail with
// the words of line, and ~/.config/mcp-jail/servers/a.toml is its file.
type refusedStart struct {
	name  string
	line  []string                     // nil: run --id ID -- and the words of program
	words []string                     // of the server; nil: cat
	file  string                       // what a.toml says besides
	fault func(t *testing.T, w *world) // may be nil, if line or file is the fault
	user  bool                         // the fault is one only for an ordinary user
	says  string                       // a part of what both say; "" is that both accept
}

const checkedID = "a-4k7q2m9x3vt5"

// secretRule gives requests to a host a secret.
const secretRule = "[[servers.a.access.net]]\nhost = \"api.example.com\"\nallow = true\n"

func refusedStarts() []refusedStart {
	script := func(text string, mode os.FileMode) func(t *testing.T, w *world) {
		return func(t *testing.T, w *world) {
			w.plant(t, w.home, map[string]string{"start": text})
			must(t, os.Chmod(filepath.Join(w.home, "start"), mode))
		}
	}
	file := func(name, text string) func(t *testing.T, w *world) {
		return func(t *testing.T, w *world) { w.plant(t, w.home, map[string]string{name: text}) }
	}
	// mcp-jail-tls must be there, and is not started.
	inspecting := func(token string) func(t *testing.T, w *world) {
		return func(t *testing.T, w *world) {
			w.plant(t, w.base, map[string]string{"bin/" + tlsName: "#!/bin/cat\n", "home/token": token})
			must(t, os.Chmod(filepath.Join(w.base, "bin", tlsName), 0o755))
			w.env[0] += ":" + filepath.Join(w.base, "bin")
		}
	}
	servers := ".config/mcp-jail/servers/"
	id := func(more ...string) []string {
		return append(append([]string{"run"}, more...), "--id", checkedID, "--", "cat")
	}
	return []refusedStart{
		{name: "no fault"},
		{name: "no such program", words: []string{"no-such-program"}, says: "has no program no-such-program"},
		{name: "a folder", words: []string{"$H"}, says: "is a directory"},
		{name: "no interpreter", words: []string{"$H/start"}, fault: script("#!/no/such/interpreter\n", 0o755), says: "the interpreter /no/such/interpreter of its #! line was not found"},
		{name: "no program", words: []string{"$H/start"}, fault: script("text", 0o755), says: "is neither a binary nor a script"},
		{name: "may not be executed", words: []string{"$H/start"}, fault: script("#!/bin/cat\n", 0o644), says: "is not executable"},
		{name: "two files with one id", fault: func(t *testing.T, w *world) {
			b, err := os.ReadFile(filepath.Join(w.home, servers, "a.toml"))
			must(t, err)
			file(servers+"b.toml", strings.ReplaceAll(string(b), "servers.a]", "servers.b]"))(t, w)
		}, says: "remove one of the two files"},
		{name: "no file has the id", fault: func(t *testing.T, w *world) { must(t, os.Remove(filepath.Join(w.home, servers, "a.toml"))) }, says: "has the id " + checkedID},
		{name: "an unknown key", file: "comand = 1\n", says: "servers.a.comand is not a known key"},
		{name: "a rule that says nothing", file: "[[servers.a.access.fs]]\npath = \"~/notes.txt\"\n", says: "says nothing"},
		{name: "a rule inside a denial", file: "[servers.a.access]\nfs = [{ path = \"~\", deny = true }, { path = \"~/notes.txt\", read = true }]\n", says: "notes.txt"},
		{name: "a rule with less than the one around it", file: "[servers.a.access]\nfs = [{ path = \"~/d\", read = true, write = true }, { path = \"~/d/e\", read = true }]\n", fault: file("d/e/f", ""), says: "d/e"},
		{name: "a link that a server may replace", file: "[servers.a.access]\nworkspace = \"write\"\nfs = [{ path = \"./link\", read = true }]\n", fault: func(t *testing.T, w *world) {
			file("other/f", "")(t, w)
			must(t, os.Symlink(filepath.Join(w.home, "other"), filepath.Join(w.work, "link")))
		}, says: "link"},
		{name: "no such directory", file: "directory = \"~/gone\"\n", says: "the server cannot reach it"},
		{name: "no such project folder", file: "workspace = \"~/gone\"\n", says: "does not exist"},
		{name: "a gap", file: "[servers.a.access]\nfs = [{ path = \"/proc/nope/\", read = true, write = true }]\n", says: "this machine cannot enforce the policy"},
		{name: "an empty secret", file: secretRule + "secret = { env = \"TOKEN\", file = \"~/token\" }\n", fault: inspecting("\n"), says: "is empty"},
		{name: "a secret too large", file: secretRule + "secret = { env = \"TOKEN\", file = \"~/token\" }\n", fault: inspecting(strings.Repeat("x", 1<<17)), says: "the secret TOKEN from the file"},
		{name: "no program for a secret", file: secretRule + "secret = { env = \"TOKEN\", command = [\"no-such-program\"] }\n", fault: inspecting(""), says: "no-such-program was not found"},
		{name: "HOME is a file", fault: func(t *testing.T, w *world) {
			state := filepath.Join(w.home, ".local/state/mcp-jail/servers")
			must(t, os.RemoveAll(filepath.Join(state, checkedID)))
			must(t, os.WriteFile(filepath.Join(state, checkedID), nil, 0o600))
		}, says: "own HOME"},
		{name: "a folder that cannot be made", user: true, file: "[servers.a.access]\nfs = [{ path = \"~/closed/new/\", read = true, write = true }]\n", fault: func(t *testing.T, w *world) {
			must(t, os.Chmod(filepath.Join(w.home, "closed"), 0o500))
		}, says: `the step "create directory" failed`},
		{name: "HOME cannot be made", user: true, fault: func(t *testing.T, w *world) {
			state := filepath.Join(w.home, ".local/state/mcp-jail/servers")
			must(t, os.RemoveAll(filepath.Join(state, checkedID)))
			must(t, os.Chmod(state, 0o500))
			t.Cleanup(func() { os.Chmod(state, 0o700) })
		}, says: "the HOME of this server cannot be made"},
		{name: "another program in PATH", words: []string{"tool"}, fault: func(t *testing.T, w *world) {
			cat, err := os.ReadFile("/bin/cat")
			must(t, err)
			file("bin/tool", string(cat))(t, w)
			w.plant(t, w.work, map[string]string{"bin/tool": string(cat)})
			must(t, os.Chmod(filepath.Join(w.home, "bin/tool"), 0o755))
			must(t, os.Chmod(filepath.Join(w.work, "bin/tool"), 0o755))
			w.env[0] += ":" + filepath.Join(w.home, "bin")
			if out := w.starts(t, "run", "--id", checkedID, "--", "tool"); strings.Contains(out, "PATH has") {
				t.Errorf("the first start: %s", out)
			}
			w.env[0] = strings.Replace(w.env[0], "PATH=", "PATH="+filepath.Join(w.work, "bin")+":", 1)
		}, says: "PATH has another program for tool"},
		{name: "no place for the log", line: id("--log-file", "/no/such/folder/log"), says: "--log-file: /no/such/folder/log: no such file"},
		{name: "a log that programs believe", line: id("--log-file", "$H/.bashrc"), fault: file(".bashrc", ""), says: "programs outside the jail believe"},
		{name: "a flag beside an id", line: id("--read", "/etc"), says: "--read is for a command without --id"},
		{name: "no such option", line: id("--no-such", "x"), says: "there is no option --no-such"},
		{name: "no dashes", line: []string{"run", "cat", "x"}, says: "put -- before the command"},
		{name: "no such server", line: []string{"run", "nosuch"}, says: `there is no server "nosuch"`},
		{name: "no such file of configuration", line: []string{"run", "--config", "$H/no.toml", "x"}, says: "no.toml: cannot be read"},
		{name: "a preset for a line", line: []string{"run", "--preset", "git", "--", "cat"}, says: "a preset is for a server with an id"},
		{name: "a project's file that is not trusted", line: []string{"run", "tab"}, fault: func(t *testing.T, w *world) {
			w.plant(t, w.work, map[string]string{".mcp-jail.toml": "version = 1\n[servers.tab]\ncommand = \"cat\"\n"})
		}, says: "you have not accepted it yet"},
		{name: "a table with a mistake", line: []string{"run", "tab"}, fault: file(".config/mcp-jail/config.toml", "version = 1\n[servers.tab]\ncommand = \"cat\"\nworkspace = 7\n"), says: "servers.tab.workspace"},
		{name: "defaults with a mistake", fault: file(".config/mcp-jail/config.toml", "version = 1\n[defaults]\nnosuch = 7\n"), says: "defaults.nosuch"},
	}
}

// starts starts a server whose client leaves at once, and returns what mcp-jail says.
func (w *world) starts(t *testing.T, args ...string) string {
	t.Helper()
	cmd := w.mcpJail(args...)
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}` + "\n")
	var said strings.Builder
	cmd.Stderr = &said
	cmd.Run()
	return said.String()
}

// TestCheckFindsWhatStartsRefuse: what a start says that ends before its jail is built, check says in the same words.
// Without a fault, both accept.
func TestCheckFindsWhatStartsRefuse(t *testing.T) {
	t.Parallel()
	refused := regexp.MustCompile(`was not started|could not be started|has an error|cannot be used`)
	for _, r := range refusedStarts() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			words := r.words
			if words == nil {
				words = []string{"cat"}
			}
			line := r.line
			if line == nil {
				line = append([]string{"run", "--id", checkedID, "--"}, words...)
			}
			write := func(line, words []string, more string) []string {
				fill := func(words []string) (quoted string) {
					for i, word := range words {
						words[i] = strings.ReplaceAll(word, "$H", w.home)
						quoted += fmt.Sprintf("%q, ", words[i])
					}
					return strings.TrimSuffix(quoted, ", ")
				}
				w.plant(t, w.home, map[string]string{
					".config/mcp-jail/servers/a.toml": fmt.Sprintf("version = 1\n[servers.a]\nid = %q\ncommand = %s\narguments = [%s]\n%s", checkedID, fill(words[:1]), fill(words[1:]), more),
					".claude.json":                    fmt.Sprintf(`{"mcpServers": {"a": {"command": "mcp-jail", "args": [%s]}}}`, fill(line)),
				})
				if w.as != nil {
					must(t, filepath.WalkDir(w.home, func(path string, _ os.DirEntry, err error) error {
						return errors.Join(err, os.Lchown(path, int(w.as.Uid), int(w.as.Gid)))
					}))
				}
				return line
			}
			check := func() string {
				cmd := w.mcpJail("check")
				cmd.Env = append([]string{"COLUMNS=10000", "PATH=" + filepath.Dir(cmd.Path) + ":" + strings.TrimPrefix(w.env[0], "PATH=")}, w.env[1:]...)
				out, _ := cmd.CombinedOutput()
				return string(out)
			}
			flat := func(text string) string {
				return strings.Join(strings.Fields(strings.ReplaceAll(text, w.home, "~")), " ")
			}

			w.plant(t, w.home, map[string]string{"closed/": "", ".local/state/mcp-jail/servers/": ""})
			must(t, os.Chmod(filepath.Join(w.home, ".local/state/mcp-jail"), 0o700))
			must(t, os.Chmod(filepath.Join(w.home, ".local/state/mcp-jail/servers"), 0o700))
			if r.user && os.Getuid() == 0 {
				w.asOrdinaryUser(t)
			}
			line = write(line, words, r.file)
			if r.fault != nil {
				r.fault(t, w)
			}
			found, said := check(), w.starts(t, line...)
			if r.says == "" { // the control
				if refused.MatchString(said) || !strings.Contains(found, "\nNo mistakes in 1 server.") {
					t.Errorf("without a fault:\n%s\n%s", said, found)
				}
				return
			}
			if !refused.MatchString(said) || !strings.Contains(flat(said), flat(r.says)) {
				t.Fatalf("it starts, or says something else:\n%s", said)
			}
			for line := range strings.Lines(said) {
				line = flat(strings.TrimPrefix(line, "mcp-jail: "))
				switch {
				case strings.HasPrefix(line, "warning: "), regexp.MustCompile(`^the (configuration|command line of mcp-jail) has an error$|^Correct it\.|^mcp-jail (check|run --help)$`).MatchString(line):
				case !strings.Contains(flat(found), line):
					t.Errorf("check does not say %q:\n%s", line, found)
				}
			}
			if !strings.Contains(found, "FAIL  ") {
				t.Errorf("check finds no mistake:\n%s", found)
			}
		})
	}
}
