package resolve

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// StartedFrom returns the files of its program that a server needs to start by a line in a directory, also those that its
// policy does not allow. tree is the package that is pinned for the line, or "". With an error, which ends such a start here, it returns what
// is known without the program. On Windows, where every server may write everywhere, there is nothing to return.
func StartedFrom(h hostfs.Host, dir, tree string, words []string) (s policy.Started, err error) {
	if h.OS == "windows" || len(words) == 0 {
		return s, nil
	}
	h.Dir, words = dir, slices.Clone(words)
	for i, word := range words { // some clients expand it
		words[i] = atHome(&h, word)
	}
	b := newResolver(&policy.Policy{FromCommandLine: true}, &h)
	b.collectGuarded()
	c := b.commandResolver(&policy.Profile{})
	c.MayWrite = nil // where a start would refuse a link, what it leads to counts
	program := ""
	if tree != "" {
		c.addDependency(tree, "the installed package", false)
	} else {
		program, err = c.Start(words[0], words[1:])
	}
	if err != nil { // its client may have another PATH
		c.resolveArguments(path.Base(words[0]), words[0], words[1:], 0)
	}
	return startedFrom(&h, b.paths, program, b.programParts(c), dir, words), err
}

// StartedAs returns what the server of a profile is started from.
func StartedAs(h *hostfs.Host, p *policy.Profile) policy.Started {
	if h.OS == "windows" {
		return policy.Started{}
	}
	return startedFrom(h, hostfs.NewLinkResolver(h), p.Program, p.Parts, p.Dir, p.Argv)
}

func startedFrom(h *hostfs.Host, paths *hostfs.LinkResolver, program string, parts []policy.Part, dir string, words []string) policy.Started {
	s := policy.Started{Program: program}
	isSystem := func(p string) bool { return places.InBaseline(h.OS, p) }
	for _, part := range parts {
		if !isSystem(part.Path) {
			s.Parts = append(s.Parts, part)
		}
	}
	for _, word := range words {
		_, value, _ := strings.Cut(word, "=")
		for _, name := range []string{word, value} {
			if name = atHome(h, name); !path.IsAbs(name) {
				name = path.Join(dir, name)
			}
			at, err := paths.Resolve(name)
			isPart := func(part policy.Part) bool { return part.Path == at.Path }
			if err == nil && at.Exists() && at.Info.Mode.IsRegular() && !isSystem(at.Path) && !slices.ContainsFunc(parts, isPart) && !slices.Contains(s.Files, at.Path) {
				s.Files = append(s.Files, at.Path)
			}
		}
	}
	return s
}

func atHome(h *hostfs.Host, word string) string {
	if rest, ok := strings.CutPrefix(word, "~/"); ok {
		return path.Join(h.Home, rest)
	}
	return word
}

// ReasonsOfStarted returns what speaks against a grant to write at a path by what other servers are started from: a server
// that may write there gets what they were granted.
func ReasonsOfStarted(h *hostfs.Host, at string, others []policy.Started) (all []policy.Reason) {
	for _, s := range others {
		if s.Err != nil {
			all = append(all, policy.Reason{Kind: policy.WhyWouldNotStart, Names: []string{s.Err.Error()}})
		}
		if kind, from := whyStarted(h, at, s); kind != "" {
			all = append(all, policy.Reason{Kind: kind, Names: []string{s.Name, from}})
		}
	}
	return all
}

func whyStarted(h *hostfs.Host, at string, s policy.Started) (kind policy.ReasonKind, from string) {
	for _, part := range slices.Backward(s.Parts) { // a script comes before its package
		dir, isWork := part.Path, part.Work
		if info, err := h.Lstat(dir); err == nil && info.Mode.IsRegular() && dir != s.Program {
			dir, isWork = path.Dir(dir), true // a script, and what it may load
		}
		switch inside := dir != h.Home && policy.Within(at, dir); {
		case policy.Within(part.Path, at), inside && !isWork:
			return policy.WhyOtherProgram, part.Path
		case inside && from == "":
			kind, from = policy.WhyBesideProgram, part.Path
		}
	}
	for _, file := range s.Files {
		if from == "" && policy.Within(file, at) {
			kind, from = policy.WhyOtherFile, file
		}
	}
	return kind, from
}
