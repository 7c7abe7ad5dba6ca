package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

// account is the user that runs a program.
type account int

const (
	root account = 0
	user account = 1000
)

func (u account) command(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/root"
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin", "HOME=/root", "USER=root", "LANG=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if u == user {
		cmd.Dir = "/home/user"
		cmd.Env = []string{"PATH=/usr/bin", "HOME=/home/user", "USER=user", "LANG=C.UTF-8"}
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(u), Gid: uint32(u)}
	}
	return cmd
}

// run returns the output of a program and its exit status.
func (u account) run(stdin string, argv ...string) (out string, status int, err error) {
	cmd := u.command(argv...)
	cmd.Stdin = strings.NewReader(stdin)
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(b), exit.ExitCode(), nil
	}
	return string(b), 0, err
}

// converse sends the messages in turn, each after the answer to the previous one, then
// closes stdin. It returns the output and the exit status.
func (u account) converse(messages string, argv ...string) (out string, status int, err error) {
	cmd := u.command(argv...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", 0, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return "", 0, err
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	w.Close()
	if err != nil {
		return "", 0, err
	}
	var said strings.Builder
	lines := bufio.NewScanner(io.TeeReader(r, &said))
	lines.Buffer(nil, 1<<20)
	for message := range strings.Lines(messages) {
		if _, err := io.WriteString(stdin, message); err != nil {
			break // it is gone; why, it has said
		}
		_, id, isRequest := strings.Cut(message, `"id":`)
		answered := !isRequest
		for !answered && lines.Scan() {
			answered = strings.Contains(lines.Text(), `"id":`+id[:1])
		}
	}
	stdin.Close()
	for lines.Scan() {
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return said.String(), exit.ExitCode(), nil
	}
	return said.String(), 0, err
}

// notebook makes a directory with notes, a secret, and a link among the notes that leads
// to the secret.
func notebook(u account) (dir string, err error) {
	if dir, err = os.MkdirTemp("/var/tmp", "notebook-"); err != nil {
		return "", err
	}
	err = errors.Join(os.Mkdir(dir+"/notes", 0o755), os.WriteFile(dir+"/notes/garden.md", []byte("tulips\n"), 0o644),
		os.WriteFile(dir+"/secret", []byte("hunter2\n"), 0o644), os.Symlink("../secret", dir+"/notes/key.md"))
	for _, p := range []string{"", "/notes", "/notes/garden.md", "/secret", "/notes/key.md"} {
		err = errors.Join(err, os.Lchown(dir+p, int(u), int(u)))
	}
	return dir, err
}

var verdictLine = regexp.MustCompile(`(?m)^ *--- (PASS|SKIP|FAIL): (\S+)`)

// tests runs a test binary with the long forms of its tests. It requires every feature that this version of the kernel is
// known to have.
func (k *runningKernel) tests(u account, dir, run string) (string, error) {
	if !k.holds() {
		return "", errNotHere("no jail can be built here")
	}
	require := fmt.Sprintf("landlock:%d,seccomp,userns,mount_api,fresh_proc", k.landlock)
	if k.atLeast(6, 14) {
		require += ",pid_max"
	}
	argv := []string{dir + "/tests", "-test.v", "-test.timeout=" + k.patience, "-test.run=" + run}
	cmd := u.command(argv...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "MCPJAIL_REQUIRE="+require, "MCPJAIL_LONG=1")
	out, err := cmd.CombinedOutput()
	count := map[string]int{}
	names := map[string][]string{}
	for _, m := range verdictLine.FindAllSubmatch(out, -1) {
		count[string(m[1])]++
		names[string(m[1])] = append(names[string(m[1])], string(m[2]))
	}
	said := fmt.Sprintf("%d passed, %d skipped %v", count["PASS"], count["SKIP"], names["SKIP"])
	if err == nil && count["PASS"] > 0 {
		return said, nil
	}
	return "", fmt.Errorf("%v; %s\n%s", err, said, failures(out))
}

// failures returns the output of the failing tests and the end of the log.
func failures(out []byte) string {
	said := map[string]*bytes.Buffer{}
	var failed []string
	name := ""
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) > 2 && fields[0] == "===":
			name = fields[2]
			continue
		case len(fields) > 2 && fields[0] == "---" && fields[1] == "FAIL:":
			failed = append(failed, fields[2])
			name = fields[2] // what a testscript says comes after
		case len(fields) > 2 && fields[0] == "---":
			name = fields[2]
		}
		if said[name] == nil {
			said[name] = &bytes.Buffer{}
		}
		said[name].WriteString(line)
	}
	var b strings.Builder
	for _, f := range failed {
		text := said[f].String()
		fmt.Fprintf(&b, "== %s\n%s", f, text[max(0, len(text)-6000):])
	}
	if at := bytes.Index(out, []byte("panic: test timed out")); at >= 0 { // and which tests ran
		fmt.Fprintf(&b, "== %s\n", out[at:min(len(out), at+2000)])
	}
	fmt.Fprintf(&b, "== the end\n%s", out[max(0, len(out)-2000):])
	return b.String()
}
