package diagnostics

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Arguments warns, before a start, of paths among a server's arguments that exist on the
// host and that its policy does not let it read, with what would grant them. It is ""
// where there are none. Of the evidence it reads the profile and the host. tools are the
// profiles of a stateless server's tools: what one of them lets it read is not warned of.
func Arguments(ev Evidence, tools ...*policy.Profile) string {
	if ev.Profile == nil || len(ev.Profile.Argv) < 2 {
		return ""
	}
	j := newAnalyzer(&ev)
	var names, careful []string
	var needs []grant
	for _, arg := range ev.Profile.Argv[1:] {
		path := j.argumentPath(arg)
		if path == "" || slices.ContainsFunc(tools, func(p *policy.Profile) bool { return p.Allows(policy.OpRead, path) }) {
			continue
		}
		names = append(names, j.show(path))
		if j.isTooWide(path) {
			careful = append(careful, "grant what the server needs in "+j.show(path)+", not all of it")
			continue
		}
		v := j.attributePath(Certain, path, policy.Read, false, "")
		if v.grant.isZero() {
			continue
		}
		needs = append(needs, v.grant)
		if v.hint.Warning != "" {
			careful = append(careful, "careful: "+v.hint.Warning)
		}
	}
	if len(names) == 0 {
		return ""
	}
	said := "the server cannot reach what its arguments name, since that is not granted: " + strings.Join(names, ", ")
	if ev.Stateless {
		return said + "; grant it to the tools that need it, in [[servers." + tomlKey(ev.Server) + ".tools.TOOL.access.fs]]"
	}
	for _, part := range append([]string{j.grantPhrase(needs)}, careful...) {
		if part != "" {
			said += "; " + part
		}
	}
	return said
}

// argumentPath is the path that an argument, or the value of one, names: one that exists
// outside of the jail and that the server may not read. "" for any other argument.
func (j *analyzer) argumentPath(arg string) string {
	if strings.HasPrefix(arg, "-") {
		_, arg, _ = strings.Cut(arg, "=")
	}
	if !strings.ContainsAny(arg, "/.~") { // a word
		return ""
	}
	path, ok := j.absolute(arg)
	if !ok || j.exists(path) != present {
		return ""
	}
	path = j.canonical(path)
	switch place, _ := j.jailPlace(path); {
	case (place == "/tmp" || place == "/dev/shm") && path != place: // the jail has its own
		return path
	case place != "" || policy.Within(path, "/proc") || j.allows(policy.OpRead, path):
		return ""
	}
	return path
}

// analyzeArguments judges what a start says of the arguments that the jail keeps from it:
// their names are known, so they are found where no pattern could tell their end.
func (j *analyzer) analyzeArguments(lines []string) (fs candidates) {
	if j.ev.Stage != StageBoot || len(j.profile.Argv) < 2 {
		return nil
	}
	for at, line := range lines {
		if f, _ := matchFault(line); f == faultNone || f == faultNetwork {
			continue
		}
		for _, arg := range j.profile.Argv[1:] {
			path := j.argumentPath(arg)
			if written, _ := j.absolute(arg); path == "" || j.isTooWide(path) || !strings.Contains(line, path) && !strings.Contains(line, written) {
				continue
			}
			v := j.attributePath(Likely, path, policy.Read, false, "the server did not find "+j.show(path)+", which exists on the host but is not granted")
			fs.add(candidate{hint: v.hint, grant: v.grant, fix: v.fix, distance: at, named: true})
		}
	}
	return fs
}

// grantPhrase says in a phrase what to write for needs.
func (j *analyzer) grantPhrase(needs []grant) string {
	if len(needs) == 0 {
		return ""
	}
	const wider = " (or write, where it has to change something there)"
	if flags, ok := j.writer.flags(needs); ok && j.ev.FromCommandLine {
		return "start it with " + strings.Join(flags, " ") + strings.Replace(wider, "write", "--write", 1)
	}
	if j.writer.noTable || !writable(j.writer.server) {
		return ""
	}
	var blocks []string
	for _, n := range mergeGrants(append(j.writer.preserved(), needs...)) {
		blocks = append(blocks, j.phrase(n))
	}
	return "add " + strings.Join(blocks, ", and ") + strings.Replace(wider, "write", "write = true", 1)
}
