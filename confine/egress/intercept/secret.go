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

// secrets are values by the variable that has their placeholder.
type secrets map[string]string

// checkSecrets refuses values that could be more than the value of one header field.
func checkSecrets(values map[string]string) (secrets, error) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := policy.CheckSecretValue(name, values[name]); err != nil {
			return nil, err
		}
	}
	return maps.Clone(values), nil
}

// replace replaces the placeholders of the named secrets, each in the fields that it may stand
// in. What could make a host carry the values on to another one goes then, behind the body
// as well.
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
		maps.DeleteFunc(fields, func(name string, _ []string) bool { return sent && policy.TellsHost(canonicalHeader(name)) })
	}
}

// replacer is for the named secrets that are to be had, and that pass.
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
	return slices.ContainsFunc(n.Fields(), func(f string) bool { return strings.EqualFold(f, field) })
}

// misplaced finds a placeholder in a field where it is not replaced. The host would get
// it as it is, and the server an error that says nothing of the reason.
func (s secrets) misplaced(header http.Header, named []policy.Secret) *refusal {
	for _, n := range named {
		all := s.replacer([]policy.Secret{n}, func(policy.Secret) bool { return true })
		for _, field := range slices.Sorted(maps.Keys(header)) {
			if isReplacedIn(n, field) {
				continue
			}
			for _, v := range header[field] {
				if replaceInBasic(all.Replace(v), all) != v {
					return forbidden(egress.ReasonSecret, "its header field %s has the placeholder of the secret %s, which is put in %s only: if the value belongs there, write header = %q beside env (%s)", quote(field), n.Env, fieldsText(n), quote(field), n.Where)
				}
			}
		}
	}
	return nil
}

// fieldsText says in which fields a secret is put in.
func fieldsText(n policy.Secret) string {
	if n.Header == nil {
		return "the fields for credentials (Authorization, X-Api-Key and the like)"
	}
	return strings.Join(n.Header, ", ")
}

// replaceInBasic does it inside of the credentials of Basic (RFC 7617).
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
