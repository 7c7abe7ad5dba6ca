package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Facts are everything that the answers of one server to one client may depend on.
type Facts struct {
	Version     string          // of mcp-jail
	Profile     *policy.Profile // of the discovery process
	Fingerprint string          // of [Fingerprint], taken before that process is started
	Era         string          // "legacy" or "modern"
	// Client is the client's description of itself, as JSON: the params of initialize
	// without _meta, or protocolVersion, clientCapabilities and clientInfo of a modern
	// request's _meta.
	Client []byte
}

// Key returns a digest of the facts: 64 hexadecimal digits. The values of secret variables
// are part of it. Keys must not be logged: a reader who knows the other facts could test a
// guess of such a value.
func Key(f Facts) string {
	profile := *f.Profile
	profile.Withheld = nil // variables that the server does not get
	client, ok := canonical(f.Client)
	form := "json"
	if !ok {
		client, form = f.Client, "bytes"
	}
	sum := sha256.New()
	field := func(b []byte) {
		// With a length before each field, no two lists of fields have the same bytes.
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		sum.Write(b)
	}
	for _, s := range []string{"mcp-jail catalogue 1", f.Version, profile.Key(), f.Fingerprint, f.Era, form, string(client)} {
		field([]byte(s))
	}
	for _, v := range profile.Env { // Profile.Key leaves out the values of secret variables
		field([]byte(v.Name))
		field([]byte(v.Value))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// maxParams bounds the params of a request whose answer is kept, in bytes.
const maxParams = 64 << 10

// Request returns the name of a request in an Entry: its method and the params that the result
// depends on, which are all but _meta. ok is false for requests whose answers must not be kept:
// requests that carry input which the server has asked for, and params that readers could take for
// different ones.
func Request(method string, params []byte) (name string, ok bool) {
	if len(params) > maxParams || !utf8.ValidString(method) || method == "" {
		return "", false
	}
	if params = bytes.TrimSpace(params); len(params) == 0 {
		return method, true
	}
	members, err := membersOf(params)
	if err != nil {
		return "", false
	}
	for _, m := range members {
		if m.name == "inputResponses" || m.name == "requestState" {
			return "", false
		}
	}
	members = slices.DeleteFunc(members, func(m member) bool { return m.name == "_meta" })
	if len(members) == 0 {
		return method, true
	}
	text, ok := canonicalObject(members)
	return method + " " + string(text), ok
}

// member is one member of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

var errAmbiguous = errors.New("a member occurs twice")

// membersOf returns the members of an object in their order. An object with a duplicate
// member is an error, since readers differ in which one they take.
func membersOf(object []byte) (members []member, err error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(err, errors.New("not an object"))
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: t.(string)} // the decoder returns only strings here
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		if seen[m.name] {
			return nil, errAmbiguous
		}
		seen[m.name] = true
		members = append(members, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(object[dec.InputOffset():])) > 0 {
		return nil, errors.New("more than one value")
	}
	return members, nil
}

// canonical returns a JSON value without white space and with sorted members. Numbers keep
// their digits. ok is false for values that readers could take for different ones:
// duplicate members, and text that is no Unicode.
func canonical(raw []byte) ([]byte, bool) {
	if !utf8.Valid(raw) || bytes.Contains(bytes.ToLower(raw), []byte(`\ud`)) || !json.Valid(raw) {
		return nil, false // readers replace a lone \ud800 by another character
	}
	raw = bytes.TrimSpace(raw)
	switch raw[0] {
	case '{':
		members, err := membersOf(raw)
		if err != nil {
			return nil, false
		}
		return canonicalObject(members)
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil, false
		}
		out := []byte{'['}
		for i, v := range list {
			if i > 0 {
				out = append(out, ',')
			}
			text, ok := canonical(v)
			if !ok {
				return nil, false
			}
			out = append(out, text...)
		}
		return append(out, ']'), true
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return nil, false
		}
		text, err := json.Marshal(s)
		return text, err == nil
	}
	return raw, true
}

func canonicalObject(members []member) ([]byte, bool) {
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	out := []byte{'{'}
	for i, m := range members {
		value, ok := canonical(m.value)
		name, err := json.Marshal(m.name)
		if !ok || err != nil || !utf8.ValidString(m.name) {
			return nil, false
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), true
}
