package diagnostics

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Arguments returns a warning, before a start, about paths among a server's arguments that
// exist on the host and that the policy does not let the server read, with the rules that
// would grant them. It returns "" when there are none. It uses the profile and the host
// functions of the evidence. tools are the profiles of a stateless server's tools; a path
// that one of them may read is left out.
func Arguments(ev Evidence, tools ...*policy.Profile) string {
	if ev.Profile == nil || len(ev.Profile.Argv) < 2 {
		return ""
	}
	a := newAnalyzer(&ev)
	var names, careful []string
	var grants []grant
	for _, arg := range ev.Profile.Argv[1:] {
		path := a.argumentPath(arg)
		if path == "" || tilde(arg) != "" || slices.ContainsFunc(tools, func(p *policy.Profile) bool { return p.Allows(policy.OpRead, path) }) {
			continue
		}
		names = append(names, a.show(path))
		if a.writer.isDenied(path) {
			careful = append(careful, "leave out the flag --deny for "+a.show(path)+", if it may have that")
			continue
		}
		if a.isTooWide(path) {
			careful = append(careful, "grant what the server needs in "+a.show(path)+", not all of it")
			continue
		}
		f := a.proposable(a.attributePath(Certain, path, policy.Read, false, ""))
		if f.grant.isZero() {
			careful = append(careful, f.fix)
			continue
		}
		grants = append(grants, f.grant)
		if f.hint.Warning != "" {
			careful = append(careful, "careful: "+f.hint.Warning)
		}
	}
	if len(names) == 0 {
		return ""
	}
	said := "the server cannot reach what its arguments name, since that is not granted: " + strings.Join(names, ", ")
	if ev.Stateless {
		return said + "; grant it to the tools that need it, in [[servers." + show.Key(ev.Server) + ".tools.TOOL.access.fs]]" + PagePathArg.Reference()
	}
	for _, part := range append([]string{a.grantPhrase(grants)}, careful...) {
		if part != "" {
			said += "; " + part
		}
	}
	return said + PagePathArg.Reference()
}

// argumentPath returns the path that an argument, or the value of a flag, names, if it
// exists on the host and the server may not read it. It returns "" for any other argument.
func (a *analyzer) argumentPath(arg string) string {
	if strings.HasPrefix(arg, "-") {
		_, arg, _ = strings.Cut(arg, "=")
	}
	if !strings.ContainsAny(arg, "/.~") { // no path
		return ""
	}
	path, ok := a.absolute(arg)
	if !ok || a.exists(path) != present {
		return ""
	}
	path = a.canonical(path)
	switch place, _ := a.jailPlace(path); {
	case (place == "/tmp" || place == "/dev/shm") && path != place: // the jail has a directory of its own there
		return path
	case place != "" || policy.Within(path, "/proc") || a.allows(policy.OpRead, path):
		return ""
	}
	return path
}

// analyzeArguments looks in the text of a failed start for paths among the arguments that
// the jail hides. Their names are known, so it finds them where no pattern can tell where
// a path ends.
func (a *analyzer) analyzeArguments(lines []string) (all candidates) {
	if a.ev.Stage != StageStartup || len(a.profile.Argv) < 2 {
		return nil
	}
	for at, line := range lines {
		if f, _ := said.MatchFault(line); f == said.NoFault || f == said.Network {
			continue
		}
		for _, arg := range a.profile.Argv[1:] {
			path := a.argumentPath(arg)
			if written, _ := a.absolute(arg); path == "" || a.isTooWide(path) || !strings.Contains(line, path) && !strings.Contains(line, written) {
				continue
			}
			f := a.attributePath(Likely, path, policy.Read, false, "the server did not find "+a.show(path)+", which exists on the host but is not granted")
			all.add(candidate{finding: f, distance: at, named: true})
		}
	}
	return all
}

// grantPhrase returns, as a phrase, the flags or lines that grant all of grants.
func (a *analyzer) grantPhrase(grants []grant) string {
	if len(grants) == 0 {
		return ""
	}
	const wider = " (or write, where it has to change something there)"
	if flags, ok := a.writer.flags(grants); ok && a.ev.FromCommandLine {
		return "start it with " + strings.Join(flags, " ") + strings.Replace(wider, "write", "--write", 1)
	}
	if a.writer.noTable || !writable(a.writer.server) {
		return ""
	}
	var blocks []string
	for _, n := range mergeGrants(append(a.writer.preserved(), grants...)) {
		blocks = append(blocks, a.phrase(n))
	}
	return "add " + strings.Join(blocks, ", and ") + strings.Replace(wider, "write", "write = true", 1)
}

// Complaint returns the diagnosis for a server that has started and reported on stderr
// that it lacks access to something. ok is false where no likely cause with a grant is
// found. Only text counts: denials during a start are common and are ignored.
func Complaint(ev Evidence) (d Diagnosis, ok bool) {
	if !slices.ContainsFunc(ev.Stderr, said.MayNameFault) {
		return d, false
	}
	ev.Started, ev.Denials = true, nil
	d = Diagnose(ev)
	return d, d.Attribution == Likely && len(d.Grant)+len(d.Flags) > 0
}
