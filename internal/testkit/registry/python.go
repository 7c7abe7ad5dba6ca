package registry

import (
	"fmt"
	"html"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// simpleJSON is the media type of the index in JSON (PEP 691).
const simpleJSON = "application/vnd.pypi.simple.v1+json"

// simple answers for the index of all projects (""), or of one.
func (a answer) simple(project string) {
	asJSON := strings.Contains(a.q.Header.Get("Accept"), simpleJSON)
	a.Header().Set("Vary", "Accept")
	if project == "" {
		a.projects(asJSON)
		return
	}
	wheels := a.shelf.wheels[project]
	if wheels == nil {
		a.text(http.StatusNotFound, "text/plain; charset=utf-8", "no such project: "+project)
		return
	}
	files, links := []any{}, ""
	for _, w := range wheels {
		if !a.allowed(w.Token) {
			return
		}
		address := a.base() + "/files/" + w.filename()
		facts := a.shelf.artifacts["/files/"+w.filename()].facts()
		sum := firstOf(w.Digest, facts.sha256)
		file := map[string]any{"filename": w.filename(), "url": address, "size": facts.size, "hashes": map[string]string{"sha256": sum}}
		attributes := ""
		if w.RequiresPython != "" {
			file["requires-python"] = w.RequiresPython
			attributes += fmt.Sprintf(` data-requires-python="%s"`, html.EscapeString(w.RequiresPython))
		}
		if w.Build == "" {
			metadata := a.shelf.artifacts["/files/"+w.filename()+".metadata"].facts().sha256
			file["core-metadata"] = map[string]string{"sha256": metadata}
			attributes += fmt.Sprintf(` data-core-metadata="sha256=%[1]s" data-dist-info-metadata="sha256=%[1]s"`, metadata)
		}
		files = append(files, file)
		links += fmt.Sprintf("<a href=\"%s#sha256=%s\"%s>%s</a><br>\n", address, sum, attributes, w.filename())
	}
	if asJSON {
		a.simpleJSON(map[string]any{"name": project, "files": files})
		return
	}
	a.text(http.StatusOK, "text/html; charset=utf-8", "<!DOCTYPE html>\n<title>"+html.EscapeString(project)+"</title>\n"+links)
}

func (a answer) projects(asJSON bool) {
	list, links := []any{}, ""
	for _, name := range slices.Sorted(maps.Keys(a.shelf.wheels)) {
		list = append(list, map[string]string{"name": name})
		links += fmt.Sprintf("<a href=\"%[1]s/\">%[1]s</a><br>\n", name)
	}
	if asJSON {
		a.simpleJSON(map[string]any{"projects": list})
		return
	}
	a.text(http.StatusOK, "text/html; charset=utf-8", "<!DOCTYPE html>\n<title>index</title>\n"+links)
}

func (a answer) simpleJSON(doc map[string]any) {
	doc["meta"] = map[string]string{"api-version": "1.0"}
	a.encode(http.StatusOK, simpleJSON, doc)
}
