package lifecycle

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// instance is what concerns one process of a server, or several of which one
// follows the other.
type instance struct {
	*front
	Profile *policy.Profile

	pipes  *pipes
	procs  procs
	redact *diagnostics.Redactor
	tail   *diagnostics.Tail

	statement []byte       // what messages tell the server of its limits; nil: nothing
	roots     string       // the mode
	rootsOurs atomic.Bool  // we have declared the capability in the client's name
	telling   atomic.Int64 // bytes of ours that wait for the server: see tell
	lastJunk  time.Time    // of the goroutine that reads the server
}

func (i *instance) init(c *front, p *policy.Profile) {
	i.front, i.Profile = c, p
	if i.roots = p.Roots; i.roots == "" {
		i.roots = rootsOff
	}
	if p.Advertise {
		i.statement = p.Statement()
	}
	i.redact = diagnostics.NewRedactor(p.Env)
	i.tail = diagnostics.NewTail(i.redact)
}

// accepted tells, at each start, which gaps of the plan the user has accepted, and
// first of all that there are no namespaces.
func (i *instance) accepted(plan *confine.Plan) {
	if plan == nil {
		return
	}
	var lines []string
	if plan.Bare.Answer == confine.No {
		lines = append(lines, "warning: this server runs without namespaces, held by Landlock and seccomp alone: "+plan.Bare.Detail)
	}
	for _, g := range plan.Gaps {
		if g.Waived {
			lines = append(lines, fmt.Sprintf("warning: not enforced (waived): %s: %s: %s", g.Axis, g.What, g.Why))
		}
	}
	i.recording.Lock()
	i.record.Waived = lines
	i.recording.Unlock()
	for _, line := range lines {
		i.errs.Say("mcp-jail: " + line + "\n")
		i.Log.Warn().Str("server", i.Profile.Server).Msg(strings.TrimPrefix(line, "warning: "))
	}
}

// pumpStderr shows what the server writes to its stderr, and keeps the end of it
// for a diagnosis.
func (i *instance) pumpStderr(stderr io.Reader) {
	shown := diagnostics.NewForward(i.errs, i.redact)
	io.Copy(io.MultiWriter(i.tail, shown), stderr)
	shown.Flush()
}
