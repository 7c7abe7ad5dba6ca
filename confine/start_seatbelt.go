//go:build darwin || (linux && seatbelt)

package confine

import (
	"crypto/rand"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/dirs"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/profilefile"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxlog"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/policy"
)

// carryOut starts the server by a request, and handles the events of its supervisor until that ends.
func (p *Prepared) carryOut(request startRequest, events *os.File) error {
	process := p.process
	if request.beforeExec != nil {
		if err := request.beforeExec(); err != nil {
			return err
		}
	}
	sp, err := p.complete(request.plan)
	if err != nil {
		return err
	}
	canary, err := addCanaries(&sp, process.plan.Profile)
	if err != nil {
		return err
	}
	defer canary.Close()
	if err := sandboxexec.Send(process.control, request.stdio, &sp); err != nil {
		return step.Wrap(step.Spec, err)
	}
	return process.listen(events, p.started, canary)
}

// complete returns the spec of a plan with what each start adds: the port and the password of its
// proxy, and the profile for sandbox-exec in a file.
func (p *Prepared) complete(compiled *plan.Plan) (spec.Spec, error) {
	sp := compiled.Spec
	if compiled.Seatbelt == nil {
		return sp, &step.Error{Step: step.Spec, Detail: "the plan is for another system"}
	}
	input := *compiled.Seatbelt
	if policy.Write&compiled.Profile.RightsAt(p.path) != 0 {
		return sp, &step.Error{Step: step.Spec, Detail: "the policy lets the server change mcp-jail's own program " + p.path}
	}
	input.Self, input.Tag = p.path, newTag()
	p.process.mu.Lock()
	p.process.log, p.process.self = sandboxlog.New(input.Tag), filepath.Base(p.path)
	p.process.mu.Unlock()
	var err error
	if input.ProxyPort, err = p.process.openNetwork(&sp); err != nil {
		return sp, err
	}
	text, err := seatbelt.Compile(input)
	if err != nil {
		return sp, &step.Error{Step: step.Spec, Detail: err.Error()}
	}
	if p.process.profile, err = profilefile.Write(compiled.Profile, text.Profile); err != nil {
		return sp, step.Wrap("profile", err)
	}
	sp.Seatbelt = spec.Seatbelt{Self: p.path, File: p.process.profile.Name, Params: text.Params, Umask: spec.UnknownUmask}
	if p.umask != nil {
		sp.Seatbelt.Umask = *p.umask & 0o777
	}
	return sp, nil
}

// newTag returns the tag of a start in the log of the system.
func newTag() string {
	var b [4]byte
	rand.Read(b[:])
	return "mcpj-" + hex.EncodeToString(b[:])
}

// addCanaries adds to the spec what the profile must refuse: to read and list the profile's own
// place, to make a file beside the TMPDIR, to reach a port of this process, and to signal it. The
// listener must be open until the program runs.
func addCanaries(sp *spec.Spec, profile *policy.Profile) (net.Listener, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, step.Wrap(sandboxexec.StepNotEnforced, err)
	}
	file := sp.Seatbelt.File
	all := []spec.Canary{
		{Attempt: spec.CanaryRead, Target: file},
		{Attempt: spec.CanaryList, Target: filepath.Dir(file)},
		{Attempt: spec.CanaryConnect, Target: listener.Addr().String()},
		{Attempt: spec.CanarySignal, Target: strconv.Itoa(os.Getpid())},
	}
	if sp.TempDir != "" {
		beside := sp.TempDir + ".canary"
		if profile.RightsAt(filepath.Dir(beside))&policy.Create == 0 {
			all = append(all, spec.Canary{Attempt: spec.CanaryCreate, Target: beside})
		}
	}
	sp.Seatbelt.Canaries = slices.DeleteFunc(all, func(k spec.Canary) bool { return !enforces(k) })
	return listener, nil
}

// listen handles the events of the supervisor until it ends. It returns the error of a start that
// failed. started gets nil as soon as the program runs.
func (p *Process) listen(events *os.File, started chan<- error, canary net.Listener) error {
	var running bool
	var failed error
	sandboxexec.ReadEvents(events, func(e spec.Event) {
		switch {
		case e.Kind == spec.EventStarted:
			running = true
			canary.Close()
			p.mu.Lock()
			p.began = time.Now()
			p.mu.Unlock()
			started <- nil
		case e.Kind == spec.EventFailed && !running:
			failed = &step.Error{Step: e.Step, Errno: syscall.Errno(e.Num), Detail: e.Detail, Fix: e.Target}
		default:
			p.handleEvent(e)
		}
	})
	if !running && failed == nil {
		dirs.Remove([]string{p.plan.Spec.TempDir}) // it may have made this and not told of it yet, and then it is empty
		failed = &step.Error{Step: "init", Detail: "the supervisor ended without a reason: another process killed it, or there was too little memory"}
	}
	if running {
		p.recordDeath()
		return nil
	}
	return failed
}
