package places

import (
	"path"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Harm is what a grant could do beside what it is for. It is the one judgement of that: of advice, of grant --last, and of
// all that proposes or takes a grant which the user did not type.
type Harm struct {
	Never string // why it is neither proposed nor taken; "" if it may be
	Ask   string // why a person is asked about it by name; "" if it is fine
}

// keyNames are the names of files that hold keys and passwords, wherever they lie.
var keyNames = []string{
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.kdbx", "*.gpg", "*.age",
	"credentials*", "secrets*", ".npmrc", ".pypirc", ".netrc", ".htpasswd", "*.tfstate", "*service-account*.json",
}

// HarmOf judges a grant of rights at a path.
func HarmOf(h *hostfs.Host, p *policy.Policy, name string, rights policy.Rights) Harm {
	slashed := h.Slashed()
	b := newAdviser(slashed, p)
	abs, _ := b.Expand(name, slashed.Dir)
	at, writes := b.paths.Canonical(abs), rights&policy.Write != 0
	if place := guarded(b, abs, writes); place != "" {
		return Harm{Never: "it gives a hold on " + AsWritten(h, place) + ", which decides what a jail grants, or what runs outside of it"}
	}
	home := b.paths.Canonical(b.h.Home)
	info := b.paths.Lstat(at).Info
	switch place := sensitive(slashed, p, name); {
	case place != "":
		return Harm{Ask: "it is a sensitive path (" + AsWritten(h, place) + ")"}
	case at == "/" || within(b.h, home, at):
		return Harm{Ask: "it is your whole home directory, or more"}
	case matchesKey(path.Base(at)) && !info.Mode.IsDir():
		return Harm{Ask: "its name is that of a file with a key or passwords"}
	case writes && policy.HasProtectedName(at):
		return Harm{Ask: "it is a protected name: programs outside of the jail run or trust what is written there"}
	case writes && IsSystemPlace(b.h.OS, at):
		return Harm{Ask: "it belongs to the system"}
	}
	if writes {
		for _, d := range b.Deciding {
			if real := b.paths.Canonical(d.Abs); b.holds(at, real) || b.holds(real, at) {
				return Harm{Ask: "it gives a hold on " + AsWritten(h, d.Named) + ": " + d.Risk + ", outside of the jail"}
			}
		}
	}
	if path.Dir(at) == home && (info.Mode.IsDir() || !b.paths.Exists(at)) {
		return Harm{Ask: "it lies directly in your home directory, where it may hold the files of other programs"}
	}
	return Harm{}
}

// matchesKey reports whether a name is one of those that files with keys and passwords have.
func matchesKey(name string) bool {
	for _, pattern := range keyNames {
		if MatchName(pattern, name) && path.Ext(name) != ".pub" {
			return true
		}
	}
	return false
}
