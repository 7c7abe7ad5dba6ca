package registry

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// shortForm is the media type of a packument that has what an installation needs.
const shortForm = "application/vnd.npm.install-v1+json"

// npm answers for /NAME, /NAME/VERSION and /NAME/TAG.
func (a answer) npm(name string) {
	rest := ""
	parts := strings.SplitN(name, "/", 3)
	switch {
	case strings.HasPrefix(name, "@") && len(parts) == 3:
		name, rest = parts[0]+"/"+parts[1], parts[2]
	case !strings.HasPrefix(name, "@") && len(parts) >= 2:
		name, rest = parts[0], strings.Join(parts[1:], "/")
	}
	offers := a.shelf.packages[name]
	if offers == nil {
		a.json(http.StatusNotFound, map[string]any{"error": "Not found"})
		return
	}
	for _, o := range offers {
		if !a.allowed(o.Token) {
			return
		}
	}
	if rest == "" {
		a.packument(name, offers)
		return
	}
	version := firstOf(tags(offers)[rest], rest)
	for _, o := range offers {
		if o.Version == version {
			a.json(http.StatusOK, a.manifest(o, false))
			return
		}
	}
	a.json(http.StatusNotFound, map[string]any{"error": "version not found: " + rest})
}

// packument answers with all versions of a package, in the form that the client wants.
func (a answer) packument(name string, offers []offer) {
	short := strings.Contains(a.q.Header.Get("Accept"), shortForm)
	versions, times := map[string]any{}, map[string]any{}
	modified := time.Time{}
	for _, o := range offers {
		at := o.Published
		if at.IsZero() {
			at = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		if at.After(modified) {
			modified = at
		}
		times[o.Version] = at.Format(time.RFC3339)
		versions[o.Version] = a.manifest(o, short)
	}
	doc := map[string]any{"name": name, "dist-tags": tags(offers), "versions": versions}
	kind := "application/json"
	if short {
		kind = shortForm
		doc["modified"] = modified.Format(time.RFC3339)
	} else {
		times["modified"] = modified.Format(time.RFC3339)
		times["created"] = times[offers[0].Version]
		doc["_id"], doc["time"], doc["readme"] = name, times, "# "+name
		doc["maintainers"] = []any{map[string]string{"name": "tester", "email": "tester@example.com"}}
	}
	a.Header().Set("Vary", "Accept")
	a.encode(http.StatusOK, kind, doc)
}

// shortFields are the fields of a version that the short form has.
func shortFields() []string {
	return []string{
		"name", "version", "deprecated", "dependencies", "optionalDependencies", "devDependencies", "bundleDependencies", "peerDependencies",
		"peerDependenciesMeta", "acceptDependencies", "bin", "directories", "dist", "engines", "funding", "os", "cpu", "libc", "hasInstallScript", "_hasShrinkwrap",
	}
}

// manifest returns what a packument says about a version.
func (a answer) manifest(o offer, short bool) map[string]any {
	m := o.packageJSON()
	if o.Deprecated != "" {
		m["deprecated"] = o.Deprecated
	}
	m["_id"] = o.ID()
	m["dist"] = a.dist(o)
	if short {
		if o.runsScripts() {
			m["hasInstallScript"] = true
		}
		maps.DeleteFunc(m, func(field string, _ any) bool { return !slices.Contains(shortFields(), field) })
	}
	return m
}

func (a answer) dist(o offer) map[string]any {
	address := a.base() + "/" + o.Name + "/-/" + url.PathEscape(o.tarballName())
	dist := map[string]any{"tarball": address}
	if o.needsFacts() {
		facts := o.tarball.facts()
		dist["integrity"], dist["shasum"] = facts.integrity, facts.sha1
	}
	if o.Attested {
		dist["attestations"] = map[string]any{
			"url":        a.base() + "/-/npm/v1/attestations/" + url.PathEscape(o.ID()),
			"provenance": map[string]string{"predicateType": "https://slsa.dev/provenance/v1"},
		}
	}
	maps.Copy(dist, o.Dist)
	maps.DeleteFunc(dist, func(_ string, value any) bool { return value == nil })
	return dist
}

// tags returns the dist-tags.
func tags(offers []offer) map[string]string {
	out := map[string]string{}
	for _, o := range offers {
		out["latest"] = o.Version
	}
	return out
}

// service answers for what is below /-/.
func (a answer) service(name string) {
	attested, isAttestation := strings.CutPrefix(name, "npm/v1/attestations/")
	of, isTags := strings.CutPrefix(name, "package/")
	of, rest := strings.TrimSuffix(of, "/dist-tags"), strings.HasSuffix(of, "/dist-tags")
	switch {
	case name == "ping":
		a.json(http.StatusOK, map[string]any{})
	case name == "whoami":
		a.json(http.StatusOK, map[string]any{"username": "tester"})
	case name == "npm/v1/keys":
		a.json(http.StatusOK, map[string]any{"keys": []any{}})
	case isTags && rest && a.shelf.packages[of] != nil:
		if a.allowed(a.shelf.packages[of][0].Token) {
			a.json(http.StatusOK, tags(a.shelf.packages[of]))
		}
	case isAttestation && a.attests(attested):
		a.json(http.StatusOK, map[string]any{"attestations": []any{map[string]any{"predicateType": "https://slsa.dev/provenance/v1", "bundle": map[string]any{}}}})
	default:
		a.json(http.StatusNotFound, map[string]any{"error": "Not found"})
	}
}

func (a answer) attests(id string) bool {
	for _, offers := range a.shelf.packages {
		if slices.ContainsFunc(offers, func(o offer) bool { return o.ID() == id && o.Attested }) {
			return true
		}
	}
	return false
}
