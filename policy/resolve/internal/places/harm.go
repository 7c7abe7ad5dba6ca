package places

import (
	"io/fs"
	"path"
	"slices"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// HarmOf judges a grant of rights at a path.
func HarmOf(h *hostfs.Host, p *policy.Policy, name string, rights policy.Rights) policy.Harm {
	slashed := h.Slashed()
	if !path.IsAbs(slashed.Dir) || !path.IsAbs(slashed.Home) {
		return policy.Harm{} // no server starts there: see ErrPlatform
	}
	b := newAdviser(slashed, p)
	abs, _ := b.Expand(name, slashed.Dir)
	at, home := b.paths.Canonical(abs), b.paths.Canonical(b.h.Home)
	mode, around := b.paths.Lstat(at).Info.Mode, path.Dir(at)
	socket := mode&fs.ModeSocket != 0 // to write is to connect
	writes := rights&policy.Write != 0
	changes := writes && !socket
	isGit := path.Base(at) == ".git" && mode.IsDir() // a grant of it leaves the protected names in it out
	system := isSystemPart(b.h.OS, at)
	place := guarded(b, abs, writes)
	switch {
	case at == "/" || within(b.h, home, at) || at == "/root" || around == "/home" || around == "/Users":
		return policy.Harm{Never: "it is a whole home directory, or more", Inside: true, Secret: true}
	case place != "":
		hold := "it "
		if place != at && place != abs {
			hold = "it gives a hold on " + AsWritten(h, b.Abbreviate(place)) + ", which "
		}
		return policy.Harm{Never: hold + "decides what a jail grants, or what runs outside of it", Inside: !b.holds(at, b.paths.Canonical(place))}
	case changes && policy.HasProtectedName(at) && !isGit:
		return policy.Harm{Never: "it is a protected name: programs outside of the jail run or trust what is written there"}
	case changes && system && !policy.Within(at, "/dev"):
		return policy.Harm{Never: "it belongs to the system"}
	case rights.Has(policy.Execute) && !mode.IsDir() && (mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 || slices.Contains(rows("raising", ""), path.Base(at))):
		return policy.Harm{Never: "it is a program that runs with the rights of another user"}
	}
	place = b.Sensitive(name)
	switch {
	case place != "":
		return policy.Harm{Ask: "it is a sensitive path (" + AsWritten(h, place) + ")", Secret: true}
	case HasKeyName(at) && !mode.IsDir():
		return policy.Harm{Ask: "it has the name of a file with a key or passwords"}
	case socket:
		return policy.Harm{Ask: "it is a socket of the host: the program that listens there is outside of the jail"}
	case changes && isGit:
		return policy.Harm{Ask: "it is a protected name: programs outside of the jail run or trust what is written there"}
	case changes && system:
		return policy.Harm{Ask: "it belongs to the system"}
	case !within(b.h, at, home) && isIn("of others", "", at):
		return policy.Harm{Ask: "it belongs to the system, or to another user", Inside: true}
	case b.isShared(at) || around == "/" && system:
		return policy.Harm{Ask: "it holds the files of many programs", Inside: true}
	}
	if changes {
		for _, d := range b.Deciding {
			if b.touches(at, d.Abs) {
				return policy.Harm{Ask: "it gives a hold on " + AsWritten(h, d.Written) + ": " + d.Why + ", outside of the jail"}
			}
		}
	}
	if around == home && at != b.paths.Canonical(b.workspaceOrDir()) && (mode.IsDir() || !b.paths.Exists(at)) {
		return policy.Harm{Ask: "it lies directly in your home directory, where it may hold the files of other programs", Inside: true}
	}
	return policy.Harm{}
}

// isSystemPart reports whether a path belongs to the system, or lies in a part of /var that does.
func isSystemPart(os, at string) bool {
	return IsSystemPlace(os, at) || slices.ContainsFunc([]string{"cache", "lib", "log", "mail", "run", "spool"}, func(part string) bool { return policy.Within(at, "/var/"+part) })
}

// HasKeyName reports whether a path has one of the names that files with keys and passwords have.
func HasKeyName(at string) bool {
	name := path.Base(at)
	for _, pattern := range rows("key name", "") {
		if MatchName(pattern, name) && path.Ext(name) != ".pub" {
			return true
		}
	}
	return false
}
