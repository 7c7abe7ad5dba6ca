package npm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A SignalKind is what metadata says against a new version of a package.
type SignalKind string

const (
	Deprecated       SignalKind = "deprecated"        // its publisher advises against it
	ProvenanceLost   SignalKind = "provenance-lost"   // the old version has an attestation
	publisherChanged SignalKind = "publisher-changed" // another account published it
	ScriptsAdded     SignalKind = "scripts-added"     // it runs scripts when it is installed
	oldWithdrawn     SignalKind = "old-withdrawn"     // the registry does not have the old version any more
	signaturesLost   SignalKind = "signatures-lost"   // the old version is signed by the registry
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
	case publisherChanged:
		return fmt.Sprintf("%s published the old version, and %s the new one", s.Old, s.New)
	case ScriptsAdded:
		return "the new version runs scripts when it is installed: " + s.New
	case oldWithdrawn:
		return "the registry no longer has the old version"
	case signaturesLost:
		return "the registry signed the old version, and not the new one"
	}
	return string(s.Kind)
}

// SignalFields are what npm view is asked for.
var SignalFields = []string{"name", "version", "deprecated", "dist.attestations", "dist.signatures", "_npmUser.name", "_npmUser.trustedPublisher.id", "scripts", "gypfile"}

// Signals compares two versions of a package. view is what npm view --json prints of the two, with
// [SignalFields]. If the registry does not have the old version, only the new one is judged.
func Signals(view []byte, old, new string) ([]Signal, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(view), []byte("[")) {
		view = slices.Concat([]byte("["), view, []byte("]")) // npm prints one version without a list
	}
	var versions []object
	if err := json.Unmarshal(view, &versions); err != nil {
		return nil, fmt.Errorf("npm view: %w", err)
	}
	var was, is object
	for _, v := range versions {
		switch v.text("version") {
		case old:
			was = v
		case new:
			is = v
		}
	}
	if is == nil {
		return nil, fmt.Errorf("npm view does not tell of version %s", new)
	}
	var out []Signal
	if is.truth("deprecated") {
		out = append(out, Signal{Kind: Deprecated, New: is.text("deprecated")})
	}
	if was == nil {
		return append(out, Signal{Kind: oldWithdrawn, Old: old}), nil
	}
	if was.truth("dist.attestations") && !is.truth("dist.attestations") {
		out = append(out, Signal{Kind: ProvenanceLost})
	}
	if was.truth("dist.signatures") && !is.truth("dist.signatures") {
		out = append(out, Signal{Kind: signaturesLost})
	}
	if a, b := publisher(was), publisher(is); a != b && a != "" && b != "" { // some registries name none
		out = append(out, Signal{Kind: publisherChanged, Old: a, New: b})
	}
	if a, b := scripts(was), scripts(is); b != nil && a == nil {
		out = append(out, Signal{Kind: ScriptsAdded, New: strings.Join(b, ", ")})
	}
	return out, nil
}

// publisher returns the account that published a version, "" if the metadata do not say.
// Releases of a CI system by OpenID Connect have that system in place of a person.
func publisher(v object) string {
	name := v.text("_npmUser.name")
	if by := v.text("_npmUser.trustedPublisher.id"); by != "" {
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
	return names
}

// An object is a JSON object whose values are not decoded yet. encoding/json matches the
// fields of a struct in any case; JavaScript does not, so "Bin" must not be taken for "bin".
type object map[string]json.RawMessage

// readObject decodes a file of npm. It accepts a byte order mark, as npm does.
func readObject(data []byte) (object, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, fmt.Errorf("it is not a JSON object: %w", err)
	}
	if o == nil {
		return nil, errors.New("it is null, not a JSON object")
	}
	return o, nil
}

func (o object) text(name string) string {
	var s string
	if json.Unmarshal(o[name], &s) != nil {
		return ""
	}
	return s
}

func (o object) object(name string) object {
	var m object
	if json.Unmarshal(o[name], &m) != nil {
		return nil
	}
	return m
}

// truth reports whether JavaScript counts a member as true.
func (o object) truth(name string) bool {
	switch string(bytes.TrimSpace(o[name])) {
	case "", "null", "false", "0", `""`:
		return false
	}
	return true
}
