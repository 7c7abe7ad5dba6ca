package diagnostics

import (
	"cmp"
	"slices"

	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	MaxTarget = 1 << 10 // bytes of a name
	MaxCause  = 600     // bytes of a sentence
)

// Diagnosis describes one failure, for an error frame, a tool result, stderr and the session
// record. Every string in it is valid UTF-8 and contains no secret of the profile. The sentences
// and the quoted lines (What, Cause, Fix, Detail, Said, Stderr) are safe to print. Names
// and arguments (Server, Tool, Target, those in Denials) are not, until they are quoted or
// sanitized.
type Diagnosis struct {
	Code        Code        `json:"code"`
	Stage       Stage       `json:"stage"`
	Attribution Attribution `json:"attribution"`
	Server      string      `json:"server"`
	Tool        string      `json:"tool,omitempty"`
	Exit        *int        `json:"exit,omitempty"`     // exit status, unless a signal ended the server
	Signal      string      `json:"signal,omitempty"`   // "SIGKILL"
	Answered    bool        `json:"answered,omitempty"` // the call succeeded

	What  string `json:"what"`            // what happened, one line
	Head  string `json:"head,omitempty"`  // What without the server, where What names it in the middle
	Cause string `json:"cause,omitempty"` // why, one line; "" when unknown
	May   string `json:"may,omitempty"`   // what the server may do instead of what was blocked
	Whole bool   `json:"whole,omitempty"` // Cause is whole sentences, which say how sure they are
	Fix   string `json:"fix,omitempty"`   // what to do, one line, a command last; "" when nothing helps

	Apart []string `json:"apart,omitempty"` // what an unexplained failure names, and the jail hides or has of its own

	Explain Page `json:"explain,omitempty"` // the page about such failures

	Detail  []string        `json:"detail,omitempty"`      // further lines of an error of mcp-jail, or of gaps
	Said    []string        `json:"said,omitempty"`        // text of the failing request, quoted
	Stderr  []string        `json:"stderr_tail,omitempty"` // the last lines of the server's stderr
	Denials []policy.Denial `json:"denials,omitempty"`     // refusals that the jail recorded, oldest first
	Hints   []Hint          `json:"hints,omitempty"`       // closest to the failure first
	Longer  change.Proposal `json:"longer,omitzero"`       // more time for the start, if nothing else can be allowed

	Asked bool `json:"-"` // the next call of the tool asks the user in the client

	Kept string `json:"kept,omitempty"` // the policy gives it by now: why the server does not have it yet

	Replaced string `json:"-"` // the file that was replaced, if that is the cause
}

// Proposals returns the changes that would allow what was blocked.
func (d *Diagnosis) Proposals() (all []*change.Proposal) {
	for i := range d.Hints {
		if p := &d.Hints[i].Proposal; !p.IsZero() {
			all = append(all, p)
		}
	}
	if !d.Longer.IsZero() {
		all = append(all, &d.Longer)
	}
	return all
}

// Decide decides anew about the changes that would allow what was blocked.
func (d *Diagnosis) Decide(propose func(change.Want) change.Proposal) {
	var all []*change.Proposal
	for i := range d.Hints {
		p := &d.Hints[i].Proposal
		if all = append(all, p); !p.IsZero() {
			*p = propose(p.Want)
		}
	}
	if change.Bundle(all); !d.Longer.IsZero() {
		d.Longer = propose(d.Longer.Want)
	}
}

// CanAllow reports whether the user can allow something of it by mcp-jail grant.
func (d *Diagnosis) CanAllow() bool {
	return slices.ContainsFunc(d.Proposals(), func(p *change.Proposal) bool { return p.IsOpen() })
}

// Advised returns what to do but for a change: where it is not proposed, why.
func (d *Diagnosis) Advised() string {
	if len(d.Hints) == 0 {
		return d.Fix
	}
	return Joined(d.Hints[0].Proposal.Refused(), d.Fix)
}

// Silent reports whether there is nothing to say: no cause is known and the jail refused
// nothing. The server's response then passes unchanged.
func (d Diagnosis) Silent() bool {
	return d.Attribution == None && d.Cause == "" && len(d.Denials) == 0
}

// Code is the code of a JSON-RPC error that mcp-jail generates. The codes lie outside of
// -32768…-32000, which JSON-RPC and MCP reserve.
type Code int

const (
	CodeExec    Code = -31001 // not started, because of the program
	CodeStartup Code = -31002 // the server ended before its first response
	CodeDied    Code = -31003 // the server ended during a call
	CodeConfig  Code = -31004 // the configuration has an error
	CodeJail    Code = -31005 // not started, because the jail cannot be built
	CodeTimeout Code = -31006 // the server did not respond in time
	CodeTools   Code = -31007 // the server's tools are not the pinned ones
	CodeLeak    Code = -31008 // the message has a secret
)

// Hint is one access that the policy refuses, with its remedy.
type Hint struct {
	Attribution Attribution `json:"attribution"`
	Axis        policy.Axis `json:"axis"`
	Target      string      `json:"target"`            // path, host, variable, program, limit or step of the start
	Missing     string      `json:"missing"`           // "read", "write", "execute", "connect", "variable", "program", "limit", "jail", or the operation of a denial
	Cause       string      `json:"cause"`             // why this is the cause, one line
	Fix         string      `json:"fix,omitempty"`     // what to do, one line
	Explain     Page        `json:"explain,omitempty"` // the page about such refusals
	// Proposal is the change that would allow it. It is zero where there is none.
	Proposal change.Proposal `json:"proposal,omitzero"`
}

// Stage tells how far a server had come when it failed.
type Stage string

const (
	StageExec    Stage = "exec" // the server was not started
	StageStartup Stage = "boot" // the server ended or timed out before its first response
	StageList    Stage = "list" // the server responds, but its tools could not be listed
	StageCall    Stage = "call" // a tool call failed, by a response or by the end of the process
)

// Attribution tells how certain it is that the jail caused the failure. The four values
// are ordered. A diagnosis never claims more than its evidence shows.
type Attribution string

const (
	// Certain: the jail recorded the refusal, or the failure is one of mcp-jail itself.
	Certain Attribution = "certain"
	// Likely: the text of the failure names something (a path, a host, a variable, a
	// program), and the policy refuses exactly that.
	Likely Attribution = "likely"
	// Possible: the text contains only a signature, such as EACCES, which refusals of the
	// jail cause and other faults as well.
	Possible Attribution = "possible"
	// None: no evidence points to the jail.
	None Attribution = "none"
)

// Brief returns What without the name of the server, for lists that have the name beside it.
func (d Diagnosis) Brief() string { return cmp.Or(d.Head, d.What) }

// Happened sets what happened. The server is named between before and after.
func (d *Diagnosis) Happened(before, after string) {
	d.Head, d.What = before+after, before+" of "+Who(d.Server)+after
}

// Who names a server in a sentence.
func Who(server string) string {
	if server == "" {
		return "the server"
	}
	return show.InSentence(server)
}

func toolsDiffer(isKnown, isRefused bool) string {
	s := " are not those that mcp-jail.lock pins"
	if !isKnown {
		s = " cannot be compared with those that mcp-jail.lock pins"
	}
	if isRefused {
		s += `, and pin_tools is "enforce"`
	}
	return s
}
