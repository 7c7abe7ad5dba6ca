package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A check is a function that returns what it saw, or an error. If boot is set, the check
// runs in that boot only.
type check struct {
	name string
	boot string
	run  func(*runningKernel) (said string, err error)
}

var checks = []check{
	{"doctor/root", "", func(k *runningKernel) (string, error) { return k.doctor(root) }},
	{"doctor/user", "", func(k *runningKernel) (string, error) { return k.doctor(user) }},
	{"plan", "", (*runningKernel).plan},
	{"session/root", "", func(k *runningKernel) (string, error) { return k.session(root) }},
	{"session/user", "", func(k *runningKernel) (string, error) { return k.session(user) }},
	{"confine/root", "default", func(k *runningKernel) (string, error) {
		return k.tests(root, "/vm/integration", ".")
	}},
	{"confine/user", "default", func(k *runningKernel) (string, error) {
		return k.tests(user, "/vm/integration", ".")
	}},
	{"attacks/root", "default", func(k *runningKernel) (string, error) { return k.tests(root, "/vm/attacks", ".") }},
	{"attacks/user", "default", func(k *runningKernel) (string, error) { return k.tests(user, "/vm/attacks", ".") }},
	{"scripts/root", "default", func(k *runningKernel) (string, error) {
		if !k.holdsAll(root) {
			return "", errNotHere("root's processes have no limit here")
		}
		return k.tests(root, "/vm/cmd", "^TestScripts$")
	}},
	{"scripts/user", "default", func(k *runningKernel) (string, error) { return k.tests(user, "/vm/cmd", "^TestScripts$") }},
	{"cgroup/user", "default", (*runningKernel).cgroupOfUser},
	{"namespaces/limit", "default", (*runningKernel).withoutNamespaces},
	{"namespaces/unprivileged", "default", (*runningKernel).withoutUnprivilegedNamespaces},
}

// holds reports whether this kernel can hold a jail at all.
func (k *runningKernel) holds() bool { return k.landlock > 0 }

// holdsAll reports whether this kernel can enforce the default policy with nothing waived.
// That includes the limit of root's processes: before Linux 6.14 a PID namespace has no
// pid_max.
func (k *runningKernel) holdsAll(u account) bool { return k.holds() && (u != root || k.atLeast(6, 14)) }

// doctor compares what mcp-jail doctor says with what is known of this version.
func (k *runningKernel) doctor(u account) (string, error) {
	about, _, err := u.run("", "mcp-jail", "--version")
	if err != nil {
		return "", err
	}
	abi := 0
	if m := landlockABI.FindStringSubmatch(about); m != nil {
		abi, _ = strconv.Atoi(m[1])
	}
	if known := !k.atLeast(7, 0) || k.landlock == 0; known && abi != k.landlock {
		return "", fmt.Errorf("the ABI of Landlock is taken for %d, and this is Linux %s:\n%s", abi, k.release, about)
	} else if !known && abi < k.landlock {
		return "", fmt.Errorf("the ABI of Landlock is taken for %d only", abi)
	}
	words, status, err := u.run("", "mcp-jail", "doctor")
	if (status == 0) != k.holdsAll(u) {
		return "", fmt.Errorf("status %d, %v:\n%s", status, err, words)
	}
	if k.holdsAll(u) {
		return fmt.Sprintf("ABI %d", abi), nil
	}
	help := "Linux 5.13"
	if k.holds() {
		help = "ordinary user"
	} else if k.atLeast(5, 13) {
		help = "lsm="
	}
	if err != nil || status != 3 || !strings.Contains(words, help) {
		return "", fmt.Errorf("doctor does not say %q, or its status is not 3 but %d (%v):\n%s", help, status, err, words)
	}
	return "refused, with " + help, nil
}

// landlockABI finds the version of Landlock in what --version says.
var landlockABI = regexp.MustCompile(`landlock (\d+)`)

// waiveFlags returns the flags that a server with write access needs here. Before Linux
// 5.19 mcp-jail cannot protect names that do not exist yet.
func (k *runningKernel) waiveFlags(u account) (flags []string) {
	if !k.holdsAll(u) {
		flags = append(flags, "--waive", "limits")
	}
	if !k.atLeast(5, 19) {
		flags = append(flags, "--waive", "fs")
	}
	return flags
}

const widePolicy = `version = 1
[servers.wide]
command = "true"
workspace = %q
[[servers.wide.access.fs]]
path = "."
read = true
delete = true
[[servers.wide.access.net]]
host = "example.org"
allow = true
`

// plan checks the gaps that mcp-jail plan prints for a wide policy: exactly what this
// version cannot enforce.
func (k *runningKernel) plan() (string, error) {
	dir, err := os.MkdirTemp("/var/tmp", "plan-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := errors.Join(os.Chown(dir, int(user), int(user)), os.WriteFile(dir+"/wide.toml", fmt.Appendf(nil, widePolicy, dir), 0o644)); err != nil {
		return "", err
	}
	out, status, err := user.run("", "mcp-jail", "plan", "--format", "json", "--config", dir+"/wide.toml", "wide")
	var plan struct {
		Gaps []struct{ Axis, What string }
	}
	if err == nil {
		err = json.Unmarshal([]byte(out), &plan)
	}
	if err != nil {
		return "", fmt.Errorf("status %d: %w\n%s", status, err, out)
	}
	var want []string
	if k.landlock == 0 {
		want = append(want, "fs: the second layer of the file rules (Landlock)")
	} else if !k.atLeast(5, 19) { // neither Landlock nor a supervisor
		want = append(want, "fs: "+dir+"/wide.toml:5: path = \".\": no update")
	}
	if !k.atLeast(5, 12) {
		want = append(want, "fs: a root of the jail's own")
	}
	var got []string
	for _, g := range plan.Gaps {
		got = append(got, g.Axis+": "+g.What)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || (status == 3) != (want != nil) {
		return "", fmt.Errorf("status %d, gaps %q, want %q", status, got, want)
	}
	return fmt.Sprintf("gaps %q", got), nil
}

const session = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"vm","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read","arguments":{"name":"garden"}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"write","arguments":{"name":"new","text":"x"}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"read","arguments":{"name":"key"}}}
`

// session runs a server that reads and writes notes and follows a link to a secret. It
// reads the secret without a jail, and not in the jail. If this version cannot enforce the
// policy, mcp-jail refuses to start it; with the gaps waived by name it starts.
func (k *runningKernel) session(u account) (string, error) {
	dir, err := notebook(u)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	open, _, err := u.converse(session, "notes", dir+"/notes")
	if err != nil || !strings.Contains(open, "hunter2") || !strings.Contains(open, "tulips") {
		return "", fmt.Errorf("control: %v\n%s", err, open)
	}
	if err := os.Remove(dir + "/notes/new.md"); err != nil {
		return "", err
	}
	argv := []string{"mcp-jail", "run", "--write", dir + "/notes", "--", "notes", dir + "/notes"}
	said := "answered, and denied the secret"
	if waive := k.waiveFlags(u); waive != nil || !k.holds() {
		out, status, err := u.converse(session, argv...)
		if err != nil || status != 3 || strings.Contains(out, "tulips") {
			return "", fmt.Errorf("it was not refused: status %d, %v\n%s", status, err, out)
		}
		if !k.holds() {
			return "refused", nil
		}
		argv = slices.Insert(argv, 2, waive...)
		said = "refused; " + said + " with " + strings.Join(waive, " ")
	}
	out, status, err := u.converse(session, argv...)
	if err != nil || status != 0 {
		return "", fmt.Errorf("status %d, %v\n%s", status, err, out)
	}
	return said, checkSession(dir, out)
}

// checkSession returns an error if a session with a notebook in a jail went wrong.
func checkSession(dir, out string) error {
	for _, want := range []string{`"id":1,"result"`, "tulips", "made new"} {
		if !strings.Contains(out, want) {
			return fmt.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "hunter2") || !strings.Contains(out, `"isError":true`) {
		return fmt.Errorf("the secret was not denied:\n%s", out)
	}
	if b, err := os.ReadFile(dir + "/notes/new.md"); err != nil || string(b) != "x" {
		return fmt.Errorf("what was written in the jail: %q, %v", b, err)
	}
	return nil
}

// withoutNamespaces forbids user namespaces to root and to the user.
func (k *runningKernel) withoutNamespaces() (string, error) {
	return k.forbid("user/max_user_namespaces", root, user)
}

// withoutUnprivilegedNamespaces forbids user namespaces to the user only, by a setting
// that Debian adds.
func (k *runningKernel) withoutUnprivilegedNamespaces() (string, error) {
	return k.forbid("kernel/unprivileged_userns_clone", user)
}

// forbid sets a kernel setting to 0 during the check. mcp-jail must name the setting as
// the cause. Then forbid waives what no jail without namespaces holds, and runs a session.
func (k *runningKernel) forbid(setting string, users ...account) (string, error) {
	if !k.holds() {
		return "", errNotHere("no jail can be built here anyway")
	}
	file := "/proc/sys/" + setting
	old, err := os.ReadFile(file)
	if err != nil {
		return "", errNotHere(err.Error())
	}
	if err := os.WriteFile(file, []byte("0"), 0); err != nil {
		return "", err
	}
	defer os.WriteFile(file, old, 0)
	name := strings.ReplaceAll(setting, "/", ".")
	for _, u := range users {
		for _, argv := range [][]string{{"mcp-jail", "doctor"}, {"mcp-jail", "run", "--waive", "limits", "--", "notes", "/"}} {
			out, status, err := u.converse(session, argv...)
			if err != nil || status != 3 || !strings.Contains(out, name) {
				return "", fmt.Errorf("%s: status %d, %v, and %s is to be named:\n%s", strings.Join(argv, " "), status, err, name, out)
			}
		}
		if err := sessionWithoutNamespaces(u); err != nil {
			return "", err
		}
	}
	return "refused, and " + name + " named; answered and denied the secret when waived", nil
}

func sessionWithoutNamespaces(u account) error {
	dir, err := notebook(u)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	argv := []string{"mcp-jail", "run", "--write", dir + "/notes", "--waive", "fs", "--waive", "process", "--waive", "limits"}
	out, status, err := u.converse(session, append(argv, "--", "notes", dir+"/notes")...)
	if err != nil || status != 0 {
		return fmt.Errorf("without namespaces: status %d, %v\n%s", status, err, out)
	}
	return checkSession(dir, out)
}
