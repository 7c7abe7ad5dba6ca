package npm

import (
	"fmt"
	"slices"
	"strings"
)

// A SignalKind is what metadata says against a new version of a package.
type SignalKind string

const (
	Deprecated       SignalKind = "deprecated"        // its publisher advises against it
	ProvenanceLost   SignalKind = "provenance-lost"   // the old version has an attestation
	PublisherChanged SignalKind = "publisher-changed" // another account published it
	ScriptsAdded     SignalKind = "scripts-added"     // it runs scripts when it is installed
	OldWithdrawn     SignalKind = "old-withdrawn"     // the registry does not have the old version any more
	SignaturesLost   SignalKind = "signatures-lost"   // the old version is signed by the registry
)

// A Signal is one reason to look at a new version before it is accepted. None proves harm,
// and no signal proves none.
type Signal struct {
	Kind SignalKind
	// Old and New are what the metadata says: a message, an account, names of scripts.
	Old, New string
}

// String returns the signal in words.
func (s Signal) String() string {
	switch s.Kind {
	case Deprecated:
		return "the new version is deprecated: " + s.New
	case ProvenanceLost:
		return "the old version has a provenance attestation, and the new one has none"
	case PublisherChanged:
		return fmt.Sprintf("%s published the old version, and %s the new one", s.Old, s.New)
	case ScriptsAdded:
		return "the new version runs scripts when it is installed: " + s.New
	case OldWithdrawn:
		return "the registry no longer has the old version"
	case SignaturesLost:
		return "the registry signed the old version, and not the new one"
	}
	return string(s.Kind)
}

// Signals compares two versions of a package in its registry metadata, a packument. The
// short form of a packument has no publishers: then no change of publisher is seen. If the
// registry does not have the old version, only the new one is judged. The error says that
// the packument cannot be read or does not have the new version.
func Signals(packument []byte, old, new string) ([]Signal, error) {
	doc, err := readObject(packument)
	if err != nil {
		return nil, fmt.Errorf("the registry's metadata: %w", err)
	}
	versions := doc.object("versions")
	was, is := versions.object(old), versions.object(new)
	if is == nil {
		return nil, fmt.Errorf("the registry's metadata of %s do not have version %s", doc.text("name"), new)
	}
	var out []Signal
	if is.truth("deprecated") {
		out = append(out, Signal{Kind: Deprecated, New: is.text("deprecated")})
	}
	if was == nil {
		return append(out, Signal{Kind: OldWithdrawn, Old: old}), nil
	}
	wasDist, isDist := was.object("dist"), is.object("dist")
	if wasDist.truth("attestations") && !isDist.truth("attestations") {
		out = append(out, Signal{Kind: ProvenanceLost})
	}
	if wasDist.truth("signatures") && !isDist.truth("signatures") {
		out = append(out, Signal{Kind: SignaturesLost})
	}
	// Metadata in the short form name no publisher: that is no change.
	if a, b := publisher(was), publisher(is); a != b && a != "" && b != "" {
		out = append(out, Signal{Kind: PublisherChanged, Old: a, New: b})
	}
	if a, b := scripts(was), scripts(is); b != nil && a == nil {
		out = append(out, Signal{Kind: ScriptsAdded, New: strings.Join(b, ", ")})
	}
	return out, nil
}

// publisher returns the account that published a version, "" if the metadata do not say.
// Releases of a CI system by OpenID Connect have that system in place of a person.
func publisher(v object) string {
	user := v.object("_npmUser")
	name := user.text("name")
	if by := user.object("trustedPublisher").text("id"); by != "" {
		return strings.TrimSpace(name + " (trusted publisher " + by + ")")
	}
	return name
}

func scripts(v object) []string {
	var names []string
	for _, name := range [...]string{"install", "postinstall", "preinstall"} {
		if v.object("scripts").truth(name) {
			names = append(names, name)
		}
	}
	if v.truth("gypfile") && !slices.Contains(names, "install") {
		names = append(names, "node-gyp")
	}
	if names == nil && v.truth("hasInstallScript") { // all that the short form says
		names = []string{"install scripts"}
	}
	return names
}
