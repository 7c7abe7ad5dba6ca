package diagnostics

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// analyzeDenial turns a denial of the jail into a finding. The finding is always refused.
// It has a grant where a rule can allow the access.
func (a *analyzer) analyzeDenial(d policy.Denial) finding {
	if d.Target == policy.DenialOthers {
		return a.analyzeOthersDenial(d)
	}
	d.Program = a.ev.Redactor.Redact(d.Program)
	target := a.quote(d.Target)
	if d.Axis == policy.AxisFs && filepath.IsAbs(d.Target) {
		target = a.show(filepath.Clean(d.Target))
	}
	cause := "the jail refused " + operation(d) + " " + target + programAndCount(d)
	switch d.Axis {
	case policy.AxisFs:
		return a.analyzePathDenial(d, cause)
	case policy.AxisIPC:
		if filepath.IsAbs(d.Target) { // a socket with a path
			return a.analyzePathDenial(d, cause)
		}
	case policy.AxisNet:
		return a.analyzeNetDenial(d, cause)
	case policy.AxisEnv:
		return a.attributeVariable(Certain, d.Target, cause)
	case policy.AxisProcess:
		if said.RightsOf(d.Operation).Has(policy.Execute) {
			return a.analyzeProgramDenial(d, cause)
		}
	case policy.AxisLimits:
		return a.analyzeLimitDenial(d, cause)
	}
	f := a.attribute(Certain, d.Axis, d.Target, d.Operation, cause, grant{})
	f.fix = "no line of a policy grants this"
	return f
}

// isNamelessLookup reports whether d is a name lookup whose name the jail did not see.
func isNamelessLookup(d policy.Denial) bool { return d.Operation == "resolve" && d.Target == "" }

// analyzeOthersDenial analyzes a denial whose target is policy.DenialOthers.
func (a *analyzer) analyzeOthersDenial(d policy.Denial) finding {
	sure, cause := Certain, "the jail refused more accesses than it records one by one: "
	if d.Reason == policy.DeniedAbsent {
		sure, cause = Possible, "the server tried more missing names than were looked up on the host, where they may be missing too: "
	}
	f := a.attribute(sure, d.Axis, d.Target, d.Operation, cause+operation(d)+" "+a.quote(d.Target)+programAndCount(d), grant{})
	f.fix = "`mcp-jail why` shows the recorded denials; a new session starts with an empty record"
	return f
}

// analyzePathDenial analyzes a denial whose target is a path.
func (a *analyzer) analyzePathDenial(d policy.Denial, cause string) finding {
	path, ok := a.absolute(d.Target)
	if !ok {
		return a.attribute(Certain, d.Axis, d.Target, d.Operation, cause, grant{})
	}
	want := said.RightsOf(d.Operation)
	if want == 0 {
		want = policy.Read
	}
	ref := said.Reference{Name: path, Want: want, Fault: said.Refused, IsMkdir: strings.HasPrefix(d.Operation, "mkdir")}
	missing := a.missingRights(path, ref, a.exists(path))
	ref.IsConnect = d.Axis == policy.AxisIPC
	private := ""
	if ref.IsConnect {
		private, _ = a.jailPlace(path)
	}
	if missing == 0 && private != "" {
		// The jail's own directory is writable and does not contain the socket.
		missing = policy.Update
		cause += ", which exists on the host: the jail has a " + private + " of its own"
	}
	if missing == 0 {
		// The profile allows what the jail refused, so no line would help.
		f := a.attribute(Certain, d.Axis, path, rightWord(want), cause, grant{})
		f.fix = "the policy already grants this: run `mcp-jail doctor` and report the problem"
		if strings.HasPrefix(d.Operation, "rename") {
			// The record holds only the new name. The refusal concerns the old name.
			f.hint.Explain = PageFsMove
			f.fix = "the new name is granted, but the old name cannot be moved: the server has no right to delete it, or it is or contains a protected name or the path of a rule; copy it instead, or see " + a.planCommand()
		}
		return f
	}
	// These fail outside of the jail too: creating a file where a directory is, and
	// removing a file that does not exist.
	if want != policy.Read && want&policy.Delete == 0 && a.exists(path+"/.") == present {
		ref.IsMkdir = true
	}
	if strings.HasPrefix(d.Operation, "remove") && a.exists(path) == absent {
		f := a.attribute(Certain, d.Axis, path, rightWord(want), cause, grant{})
		f.fix = a.show(path) + " does not exist on this host either"
		return f
	}
	f, beside := a.attributeCompanion(Certain, path, missing, cause)
	switch {
	case beside && !ref.IsConnect:
	case want == policy.Delete:
		f = a.attributeParent(Certain, path, policy.Write, cause)
	default:
		f = a.attributePath(Certain, path, missing, ref.IsMkdir, cause)
	}
	f.hint.Axis = d.Axis
	if n := f.grant; n.path != "" && n.with == "" && !n.create && private == "" && n.rights&^a.profile.RightsAt(n.path) == 0 && !a.isReserved(n.path) {
		f.grant, f.hint.Warning = grant{}, ""
		f.hint.Explain = PageFsMove
		f.fix = "the policy already grants this, but the path of a rule or a protected name cannot be moved or removed: see " + a.planCommand()
	}
	return a.withhold(a.forSocket(f, ref.IsConnect), ref.IsConnect)
}

// analyzeProgramDenial analyzes a denial to start a program.
func (a *analyzer) analyzeProgramDenial(d policy.Denial, cause string) finding {
	if d.Reason == policy.DeniedArguments {
		return a.analyzeStartArguments(d)
	}
	path, ok := a.absolute(d.Target)
	if !ok || !strings.Contains(d.Target, "/") {
		return a.attributeCommand(Certain, d.Target, cause)
	}
	if a.rightsAt(path).Has(policy.Execute) && a.profile.Programs != nil {
		f := a.attributeCommand(Certain, a.commandName(path), cause)
		f.hint.Target = path
		return f
	}
	f := a.attributePath(Certain, path, policy.Execute, false, cause)
	f.hint.Axis = policy.AxisProcess
	return f
}
