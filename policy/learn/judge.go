package learn

import (
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Verdict is what a profile says of an observation.
type Verdict uint8

const (
	Unknown Verdict = iota // the observation does not tell enough
	Allowed
	Refused
)

func (v Verdict) String() string { return [...]string{"unknown", "allowed", "refused"}[v] }

// A Judgement is the answer of Judge.
type Judgement struct {
	Verdict Verdict
	Denial  policy.Denial // the refusal as the jail would have recorded it, if Verdict is Refused
	Why     string        // why the verdict is Unknown
}

// Judge reports whether a jail with the profile would have refused what a server did in another jail.
// It asks the profile's own matchers, as the jail does. It says Unknown where the jail would have seen
// more than the observation has.
func Judge(p *policy.Profile, o policy.Observation) Judgement {
	switch op := operation(o); {
	case isSocket(o):
		return judgeSocket(p, o)
	case o.Axis == policy.AxisNet:
		return judgeNet(p, o)
	case op == policy.OpExec:
		return judgeStart(p, o)
	case o.Axis == policy.AxisFs && op != 0:
		return judgeFile(p, o, op)
	}
	return unknown("the operation " + name(o.Operation) + " of " + name(string(o.Axis)) + " is not judged")
}

// execDenied is the word of a denial for the start of a program.
const execDenied = "exec"

func unknown(why string) Judgement { return Judgement{Why: why} }

func refused(o policy.Observation, reason policy.DenialReason) Judgement {
	d := policy.Denial{Axis: o.Axis, Operation: o.Operation, Target: o.Target, Reason: reason, PID: o.PID, Program: o.Program, Count: o.Count, Time: o.Time, Tool: o.Tool}
	if operation(o) == policy.OpExec {
		d.Operation = execDenied
	}
	if reason == policy.DeniedArguments {
		d.Arguments = o.Arguments
	}
	return Judgement{Verdict: Refused, Denial: d}
}

func verdict(allowed bool, o policy.Observation, reason policy.DenialReason) Judgement {
	if allowed {
		return Judgement{Verdict: Allowed}
	}
	return refused(o, reason)
}

// operation returns what was done to a path, or 0 if the observation is about none.
func operation(o policy.Observation) policy.Op {
	if o.Axis != policy.AxisFs && o.Axis != policy.AxisProcess {
		return 0
	}
	for op := policy.OpRead; op <= policy.OpRemove; op++ {
		if o.Operation == op.String() && (o.Axis == policy.AxisFs || op == policy.OpExec) {
			return op
		}
	}
	if o.Operation == execDenied {
		return policy.OpExec
	}
	return 0
}

// isSocket reports whether the observation is a connection to a socket that has a path or an abstract
// name.
func isSocket(o policy.Observation) bool {
	return o.Operation == "connect" && (o.Axis == policy.AxisIPC || strings.HasPrefix(o.Target, "/") || strings.HasPrefix(o.Target, "@"))
}

func isPath(p string) bool { return strings.HasPrefix(p, "/") && path.Clean(p) == p }

// ownPlaces are what each jail has for itself. A rule that names one of the files would show the host's
// in its place.
var ownPlaces = []string{"/tmp", "/dev", "/proc", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}

func isOwnPlace(p string) bool {
	return slices.ContainsFunc(ownPlaces, func(own string) bool { return policy.Within(p, own) })
}

func judgeFile(p *policy.Profile, o policy.Observation, op policy.Op) Judgement {
	if !isPath(o.Target) {
		return unknown("the path is not absolute and clean")
	}
	_, covered := p.Find(o.Target)
	reads := op == policy.OpRead || op == policy.OpList
	switch {
	case p.Allows(op, o.Target):
		return Judgement{Verdict: Allowed}
	case reads && o.Absent: // there is nothing to read, in either jail
		return Judgement{Verdict: Allowed}
	case !covered && isOwnPlace(o.Target):
		return Judgement{Verdict: Allowed}
	case op == policy.OpList && (slices.Contains(p.ListOnly, o.Target) || isOnTheWay(p, o.Target)):
		return unknown("the jail would have the directory, with fewer names in it")
	}
	return refused(o, "")
}

// isOnTheWay reports whether a directory that no entry covers leads to one that the jail has.
func isOnTheWay(p *policy.Profile, dir string) bool {
	if e, covered := p.Find(dir); covered && (e.Rights != 0 || e.Path == dir) {
		return false
	}
	return slices.ContainsFunc(p.Entries, func(e policy.Entry) bool { return e.Rights != 0 && e.Path != dir && policy.Within(e.Path, dir) })
}

func judgeSocket(p *policy.Profile, o policy.Observation) Judgement {
	if strings.HasPrefix(o.Target, "@") {
		return unknown("whose socket has the abstract name is not recorded")
	}
	if !isPath(o.Target) {
		return unknown("the path is not absolute and clean")
	}
	e, covered := p.Find(o.Target)
	switch {
	case covered && e.Rights == 0, !covered && !isOwnPlace(o.Target):
		return verdict(o.Absent, o, "")
	case covered && e.Path != o.Target && e.Origin != policy.OriginHome:
		return unknown("whether the server made the socket is not recorded, and another one would be hidden")
	}
	return Judgement{Verdict: Allowed}
}

// judgeStart decides about the start of a program. The observation of a script has the script as its
// target, and the arguments with which it was started.
func judgeStart(p *policy.Profile, o policy.Observation) Judgement {
	if !isPath(o.Target) {
		return unknown("the path is not absolute and clean")
	}
	_, covered := p.Find(o.Target)
	switch {
	case p.Programs == nil && !covered && isOwnPlace(o.Target):
		return Judgement{Verdict: Allowed}
	case o.Absent && !p.Allows(policy.OpExec, o.Target):
		return Judgement{Verdict: Allowed} // no program in either jail
	case !p.Allows(policy.OpExec, o.Target):
		return refused(o, "")
	case !p.ConstrainsStarts():
		return Judgement{Verdict: Allowed}
	case len(o.Arguments) == 0:
		return unknown("the arguments are not recorded")
	}
	is := func(file string) func(string) bool { return func(other string) bool { return other == file } }
	start := policy.ProgramStart{Argv: o.Arguments, IsFile: is(o.Target), IsScript: func(word, script string) bool { return word == script }}
	match := p.MatchStart(start)
	for _, c := range p.Commands { // the forms in which the kernel starts a script
		for _, form := range c.Starts {
			if match.Allowed || form.Script != o.Target {
				continue
			}
			argv := append(append([]string{path.Base(form.File)}, form.Lead...), form.Script)
			if form.Paths != nil {
				argv[0] = form.Paths[0]
			}
			start.Argv, start.IsFile = append(argv, o.Arguments[1:]...), is(form.File)
			match = p.MatchStart(start)
		}
	}
	return verdict(match.Allowed, o, policy.DeniedArguments)
}

func judgeNet(p *policy.Profile, o policy.Observation) Judgement {
	if o.Operation == "resolve" {
		host, err := policy.NormalizeTarget(o.Target)
		allowed := err == nil && slices.ContainsFunc(p.Net, func(r policy.NetRule) bool { return r.Allow && r.Covers(host, 0) })
		return verdict(allowed, o, policy.DeniedNotGranted)
	}
	host, port, ok := splitTarget(o.Target)
	if !ok {
		return unknown("the target is no host with a port")
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if _, allowed := policy.CheckAddress(p.Net, addr, port, false); !allowed {
			return refused(o, policy.DeniedAddress)
		}
	}
	switch o.Operation {
	case "request":
		method, target, _ := strings.Cut(o.Request, " ")
		target, _, _ = strings.Cut(target, "?")
		if method == "" || !strings.HasPrefix(target, "/") {
			return unknown("the request is not recorded")
		}
		_, allowed := policy.MatchNet(p.Net, host, o.Scheme, port, target, method)
		return verdict(allowed, o, policy.DeniedRequest)
	case "connect":
		return judgeConnection(p, o, host, port)
	}
	return unknown("the operation " + name(o.Operation) + " of the network is not judged")
}

func judgeConnection(p *policy.Profile, o policy.Observation, host string, port int) Judgement {
	schemes := []string{o.Scheme}
	if o.Scheme == "" {
		schemes = []string{"http", "https", "tcp"}
	}
	var allowed, conditional int
	for _, scheme := range schemes {
		if _, ok := policy.MatchNet(p.Net, host, scheme, port, "", ""); ok {
			allowed++
		} else if policy.AnyNeedsInterception(p.Net, host, scheme, port) {
			conditional++
		}
	}
	_, other := policy.MatchNet(p.Net, host, "", port, "", "")
	switch {
	case allowed == len(schemes):
		return Judgement{Verdict: Allowed}
	case conditional > 0:
		return unknown("a rule is about requests, and each is judged by itself")
	case allowed > 0:
		return unknown("a rule is for one protocol, and the server sent nothing that tells which it speaks")
	case other && o.Scheme != "":
		return refused(o, policy.DeniedWrongScheme)
	}
	return refused(o, policy.DeniedNotGranted)
}

// splitTarget splits host:port, with the host in its normal form.
func splitTarget(target string) (host string, port int, ok bool) {
	i := strings.LastIndexByte(target, ':')
	if i <= 0 {
		return "", 0, false
	}
	port, err := strconv.Atoi(target[i+1:])
	if err != nil || port < 1 || port > 65535 {
		return "", 0, false
	}
	host, err = policy.NormalizeTarget(target[:i])
	return host, port, err == nil
}
