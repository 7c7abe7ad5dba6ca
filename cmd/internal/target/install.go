package target

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// InstallMessage is one line of JSON that the companion prints while it installs for a session.
type InstallMessage struct {
	Step  string `json:"step,omitempty"`
	Files int    `json:"files,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	Ready string `json:"ready,omitempty"` // name@version
	Error string `json:"error,omitempty"`
}

// installError reports that the package of a server could not be installed, or cannot be used.
type installError struct {
	Package string
	Reason  string
}

func (e *installError) Error() string { return e.Reason }

// NeedsInstall reports whether run has to install the package of a target first.
func (t *Target) NeedsInstall() bool {
	return t.pkg != nil && errors.Is(t.pkg.asGiven, installed.ErrNotInstalled) && t.Policy.Packages.AutoInstall && !t.pkg.line.NoInstall && !t.pkg.line.Offline
}

// installCommand returns the command that installs the package of a target, "" if there is
// nothing to install.
func (t *Target) installCommand() string {
	if t.pkg == nil || !errors.Is(t.pkg.asGiven, installed.ErrNotInstalled) {
		return ""
	}
	return "mcp-jail install " + t.Asked()
}

// scriptsCommand returns the command that runs the install scripts that were skipped when the
// package of a target was installed, "" if there are none.
func (t *Target) scriptsCommand() string {
	e := t.Package()
	if e == nil || !slices.ContainsFunc(e.Packages, func(p lockfile.Package) bool { return p.Scripts == lockfile.ScriptsSkipped }) {
		return ""
	}
	return "mcp-jail install --install-scripts " + t.Asked()
}

// InstallsAfter reports whether run installs the package of a target. err is the error of
// resolving the target, or nil. The launcher itself need not be on this machine: pip can install
// what uvx would.
func (t *Target) InstallsAfter(err error) bool {
	var missing *resolve.CommandError
	return t != nil && t.NeedsInstall() && (err == nil || errors.As(err, &missing))
}

// Install has the companion install the package of a target, and waits for it as long as the
// client waits for an answer. It leaves the first message of the client unread. The companion
// goes on after that, for AfterClient at most, because a client may wait for too short a time:
// `gemini mcp list` waits for 5 s. So the companion is in a session of its own, and holds none of
// the streams of the client.
func (t *Target) Install(c terminal.Console) error {
	companion, err := programs.Beside(programs.Companion)
	if err != nil {
		return err
	}
	name := t.pkg.line.Packages[0].String()
	reach, err := t.Reach()
	if err != nil {
		return err
	}
	cmd := t.companion(companion)
	cmd.Stderr = c.ErrWriter()    // through a pipe
	alive, err := cmd.StdinPipe() // it brings the Reach, and its end tells that the client has left
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s cannot be started, which fetches packages: %w", companion, err)
	}
	if err := json.NewEncoder(alive).Encode(reach); err != nil && !errors.Is(err, syscall.EPIPE) { // if it has ended, it says why
		return err
	}
	c.Ownf("%s: fetching it once", t.pkg.notInstalled())
	in, stdout, _ := c.Raw()
	messages := make(chan InstallMessage)
	go readMessages(out, messages)
	w := waiter{client: newClientPeek(in), out: stdout, begin: time.Now(), name: name, asked: t.Asked()}
	if err = w.wait(messages); w.left {
		out.Close()
	}
	alive.Close()
	for range messages { // a full pipe would hold up the companion
	}
	if w.left {
		return err
	}
	if status := cmd.Wait(); err == nil && status != nil {
		err = &installError{name, "the installation of " + name + " failed: " + status.Error()}
	}
	return err
}

// companion returns the command that installs the package of a target for a session.
func (t *Target) companion(program string, flags ...string) *exec.Cmd {
	args := append([]string{"install", "--for-session"}, flags...)
	if t.Policy.Packages.InstallScripts {
		args = append(args, "--install-scripts")
	}
	cmd := exec.Command(program, append(append(args, "--"), t.given...)...)
	cmd.Dir, cmd.SysProcAttr = t.workspaceDir(), ownSession()
	return cmd
}

// Recheck has the companion ask the registry for the pinned package of a target, if npm's cache may
// have decided what is pinned, and does not wait for it. Without a network nothing changes, and the
// next start tries it again.
func (t *Target) Recheck() {
	e := t.Package()
	if t.trial != nil || e == nil || e.Source != lockfile.FromCache || !t.rechecks() {
		return
	}
	program, err := programs.Beside(programs.Companion)
	if err != nil {
		return // the warning has the command
	}
	reach, err := t.Reach()
	if err != nil {
		return
	}
	cmd := t.companion(program, "--recheck")
	in, err := cmd.StdinPipe()
	if err != nil {
		return
	}
	defer in.Close()
	if cmd.Start() == nil {
		json.NewEncoder(in).Encode(reach)
		go cmd.Wait()
	}
}

// rechecks reports whether a start may ask the registry for a target's package.
func (t *Target) rechecks() bool {
	return t.Policy.Packages.AutoInstall && !t.pkg.line.NoInstall && !t.pkg.line.Offline
}

// sourceWarning returns a warning about a pinned package of which npm's cache may have decided what
// it is, or "".
func (t *Target) sourceWarning() string {
	e := t.Package()
	if e == nil || e.Proven() {
		return ""
	}
	named := e.Name + " " + e.Version
	switch {
	case e.Source == lockfile.Disputed:
		return fmt.Sprintf("%s is kept as it was pinned, and the registry does not give the same: npm's cache may have decided, which a server may have written. To see it, and to accept what the registry has: mcp-jail install --update %s", named, t.Asked())
	case t.rechecks():
		return fmt.Sprintf("%s was pinned when npm's cache could still decide what it is, which a server may have written. It is kept, and compared with the registry in the background when the network is there", named)
	}
	return fmt.Sprintf("%s was pinned when npm's cache could still decide what it is, which a server may have written. It is kept. To compare it with the registry: mcp-jail install --repair %s", named, t.Asked())
}

// readMessages sends the messages of the companion, and closes the channel at the end.
func readMessages(from io.Reader, to chan<- InstallMessage) {
	defer close(to)
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m InstallMessage
		if json.Unmarshal(lines.Bytes(), &m) == nil {
			to <- m
		}
	}
}

// waiter waits for an installation in front of a client.
type waiter struct {
	client *clientPeek
	out    io.Writer
	begin  time.Time
	name   string
	asked  string // the arguments of mcp-jail install for this server
	last   InstallMessage
	steps  int
	left   bool // the client can wait no longer
}

// AfterClient is how long an installation goes on at most after the client has left.
const AfterClient = 2 * time.Minute

// reportEvery is the time between two notifications to the client.
const reportEvery = time.Second

func (w *waiter) wait(messages <-chan InstallMessage) error {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	for {
		select {
		case m, ok := <-messages:
			switch {
			case !ok:
				return nil // the exit status tells
			case m.Error != "":
				return &installError{w.name, m.Error}
			case m.Ready != "":
				return nil
			}
			if m.Files == 0 && m.Bytes == 0 {
				m.Files, m.Bytes = w.last.Files, w.last.Bytes // those of the step before
			}
			w.last = m
		case <-tick.C:
			w.client.look()
			if w.client.impatient() {
				w.left = true
				return &installError{w.name, fmt.Sprintf("%s is still being fetched (%s). Start the server again: the next start goes on where this one stopped. Ahead of time, in a terminal: mcp-jail install %s", w.name, w.progress(), w.asked)}
			}
			w.notify()
		}
	}
}

// progress returns how far the installation is, in words.
func (w *waiter) progress() string {
	if w.last.Files == 0 && w.last.Bytes == 0 {
		step := w.last.Step
		if step == "waiting" {
			step = "waiting for another installation of it"
		}
		return fmt.Sprintf("%s, after %d s", step, int(time.Since(w.begin).Seconds()))
	}
	files := "files"
	if w.last.Files == 1 {
		files = "file"
	}
	return fmt.Sprintf("%s, %d %s, %.1f MB after %d s", w.last.Step, w.last.Files, files, float64(w.last.Bytes)/1e6, int(time.Since(w.begin).Seconds()))
}

// notify tells the client how far the installation is, if it asked for that.
func (w *waiter) notify() {
	if w.client.token == nil {
		return
	}
	w.steps++
	text, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "method": "notifications/progress",
		"params": map[string]any{"progressToken": w.client.token, "progress": w.steps, "message": "mcp-jail fetches " + w.name + ": " + w.progress()},
	})
	if err == nil {
		w.out.Write(append(text, '\n'))
	}
}

// clientPeek has the facts of the first message of the client. It leaves the message in the
// input.
type clientPeek struct {
	in    io.Reader
	name  string          // of the client
	newer bool            // the client waits longer than its older versions
	token json.RawMessage // for progress; nil if it wants none
	since time.Time       // when its first message was seen
}

func newClientPeek(in io.Reader) *clientPeek { return &clientPeek{in: in} }

// look looks for the client's first message.
func (p *clientPeek) look() {
	if !p.since.IsZero() {
		return
	}
	line, _, whole := strings.Cut(string(peekInput(p.in)), "\n")
	if !whole {
		return
	}
	p.since = time.Now()
	p.hear(line)
}

// hear takes the client's name, version and progress token from its first message.
func (p *clientPeek) hear(line string) {
	var first struct {
		Params struct {
			ClientInfo struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"clientInfo"`
			Meta struct {
				ProgressToken json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal([]byte(line), &first) == nil {
		info := first.Params.ClientInfo
		p.name, p.token = strings.ToLower(info.Name), first.Params.Meta.ProgressToken
		p.newer = strings.Contains(p.name, "codex") && codexWaitsLonger(info.Version)
	}
}

// Most clients wait for 10 to 600 seconds for an answer. mcp-jail has to answer before that.
const (
	patienceUsual = 24 * time.Second // 30 s: Claude Code, OpenCode, newer Codex
	patienceShort = 8 * time.Second  // 10 s: older Codex, Crush, qwen mcp list
)

// impatient reports whether the client is about to give up.
func (p *clientPeek) impatient() bool {
	return !p.since.IsZero() && time.Since(p.since) > p.patience()
}

// patience returns how long the client can be left without an answer.
func (p *clientPeek) patience() time.Duration {
	for _, name := range []string{"codex", "crush", "qwen"} {
		if strings.Contains(p.name, name) && !p.newer {
			return patienceShort
		}
	}
	return patienceUsual
}

// codexWaitsLonger reports whether a version of Codex is known to wait for 30 s. Older ones waited
// for 10 s.
func codexWaitsLonger(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	return err == nil && (n >= 169 || major != "0")
}
