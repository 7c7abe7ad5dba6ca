package intercept

import (
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/egress"
	"github.com/mcp-jail/mcp-jail/policy"
)

// secrets are values by the variable that holds their placeholder.
type secrets map[string]string

func checkSecrets(values map[string]string) (secrets, error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := policy.CheckSecretValue(name, values[name]); err != nil {
			return nil, err
		}
	}
	return maps.Clone(values), nil
}

// replace replaces the placeholders of the named secrets in the fields where they may occur. If
// it replaced one, it removes the fields that could make a host forward the value to another
// host, from the trailers as well.
func (s secrets) replace(header http.Header, named []policy.Secret, behind ...http.Header) {
	sent := false
	for name, values := range header {
		replacer := s.replacer(named, func(n policy.Secret) bool { return isReplacedIn(n, name) })
		for i, v := range values {
			values[i] = replaceInBasic(replacer.Replace(v), replacer)
			sent = sent || values[i] != v
		}
	}
	for _, fields := range append(behind, header) {
		maps.DeleteFunc(fields, func(name string, _ []string) bool { return sent && policy.IsHostHeader(egress.CanonicalField(name)) })
	}
}

func (s secrets) replacer(named []policy.Secret, pass func(policy.Secret) bool) *strings.Replacer {
	var pairs []string
	for _, n := range named {
		if v, ok := s[n.Env]; ok && pass(n) {
			pairs = append(pairs, policy.Placeholder(n.Env), v)
		}
	}
	return strings.NewReplacer(pairs...)
}

func isReplacedIn(n policy.Secret, field string) bool {
	return slices.ContainsFunc(n.HeaderFields(), func(f string) bool { return strings.EqualFold(f, field) })
}

// misplaced refuses a request with a placeholder in a field where it is not replaced. Otherwise
// the host would receive the placeholder, and its error would not show the reason.
func (s secrets) misplaced(header http.Header, named []policy.Secret) *refusal {
	for _, n := range named {
		all := s.replacer([]policy.Secret{n}, func(policy.Secret) bool { return true })
		for _, field := range slices.Sorted(maps.Keys(header)) {
			if isReplacedIn(n, field) {
				continue
			}
			for _, v := range header[field] {
				if replaceInBasic(all.Replace(v), all) != v {
					return forbidden(policy.DeniedSecret, "its header field %s has the placeholder of the secret %s, which is put in %s only: if the value belongs there, write header = %q beside env (%s)", quote(field), n.Env, fieldsText(n), quote(field), n.Where)
				}
			}
		}
	}
	return nil
}

func fieldsText(n policy.Secret) string {
	if n.Header == nil {
		return "the fields for credentials (Authorization, X-Api-Key and the like)"
	}
	return strings.Join(n.Header, ", ")
}

func replaceInBasic(value string, replacer *strings.Replacer) string {
	const scheme = "basic "
	if len(value) < len(scheme) || !strings.EqualFold(value[:len(scheme)], scheme) {
		return value
	}
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value[len(scheme):]))
	if err != nil {
		return value
	}
	real := replacer.Replace(string(plain))
	if real == string(plain) {
		return value
	}
	return value[:len(scheme)] + base64.StdEncoding.EncodeToString([]byte(real))
}
