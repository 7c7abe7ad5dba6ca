package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/fetching"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// WaivedGaps returns a line for each gap of a plan that the user has waived, as a session says it.
func WaivedGaps(plan *confine.Plan) []string { return lifecycle.WaivedWarnings(plan) }

// InstallsAfter reports whether run installs the package of a target. err is the error of
// resolving the target, or nil. The launcher itself need not be on this machine: pip can install
// what uvx would.
func (t *Target) InstallsAfter(err error) bool {
	var missing *resolve.CommandError
	return t != nil && t.Package.NeedsInstall() && (err == nil || errors.As(err, &missing))
}

// Install has the companion install the package, and waits for it as long as the
// client waits for an answer. It leaves the first message of the client unread. The companion
// goes on after that, for AfterClient at most, because a client may wait for too short a time:
// `gemini mcp list` waits for 5 s. So the companion is in its own session, and holds none of
// the streams of the client. reachOf is [Writers.Reach]. Install returns the lines about waived gaps
// that it has printed.
func (p *Package) Install(c terminal.Console, reachOf func() (*policy.Reach, error)) (waived []string, err error) {
	companion, err := programs.Beside(programs.Companion)
	if err != nil {
		return nil, err
	}
	name := p.line.Packages[0].String()
	reach, err := reachOf()
	if err != nil {
		return nil, err
	}
	cmd := p.companion(companion)
	cmd.Stderr = c.ErrWriter()    // through a pipe
	alive, err := cmd.StdinPipe() // it brings the Reach, and its end tells that the client has left
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s cannot be started, which fetches packages: %w", companion, err)
	}
	if err := json.NewEncoder(alive).Encode(reach); err != nil && !errors.Is(err, syscall.EPIPE) { // if it has ended, it says why
		return nil, err
	}
	broken := make(chan os.Signal, 1) // a client that has closed our stderr still wants the server
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	c.Sayf("%s: fetching it once", p.notInstalled())
	messages := make(chan fetching.Message)
	go fetching.Read(out, messages)
	w := fetching.NewWaiter(c, name, p.asked)
	// A companion whose client has left must not wait for a reader.
	if err = w.Wait(messages); w.Left {
		out.Close()
	}
	alive.Close()
	for range messages { // a full pipe would hold up the companion
	}
	if w.Left {
		return w.Waived, err
	}
	if status := cmd.Wait(); err == nil && status != nil {
		err = &fetching.Error{Package: name, Reason: "the installation of " + name + " failed: " + status.Error()}
	}
	return w.Waived, err
}

func (p *Package) companion(program string) *exec.Cmd {
	args := []string{"install", "--for-session"}
	if p.own {
		args = append(args, "--own")
	}
	for _, axis := range p.waive {
		args = append(args, "--waive", string(axis))
	}
	cmd := exec.Command(program, append(append(args, "--"), p.given...)...)
	cmd.Dir, cmd.SysProcAttr = p.dir, ownSession()
	return cmd
}

// AfterClient is how long an installation goes on at most after the client has left.
const AfterClient = 2 * time.Minute
