//go:build linux

package main

import (
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// clusterHost is the host and port of an imitated Kubernetes cluster, which is the web server.
const clusterHost = "cluster.example:6443"

// kubectl stands in for kubectl, which the tests do not install. It asks the API server of the
// kubeconfig file for a list, with the token and the authority of the file, as kubectl does.
const kubectl = `#!/usr/bin/env node
const [verb, kind] = process.argv.slice(2)
const config = JSON.parse(require("fs").readFileSync(process.env.KUBECONFIG))
const { server, "certificate-authority-data": authority } = config.clusters[0].cluster
const options = {
  ca: Buffer.from(authority, "base64"),
  headers: { Authorization: "Bearer " + config.users[0].user.token },
}
if (verb !== "get") process.exit(1)
require("https").get(server + "/api/v1/" + kind, options, r => r.pipe(process.stdout))
`

// plantKubectl writes the program kubectl into a directory of its own, and returns that. The
// directory is the first in PATH. The jail keeps it there if it is granted, and a real kubectl of
// the machine comes after it.
func plantKubectl(t *testing.T, w *world) string {
	t.Helper()
	dir := filepath.Join(w.base, "kubectl")
	must(t, os.Mkdir(dir, 0o755))
	must(t, testkit.WriteProgram(filepath.Join(dir, "kubectl"), []byte(kubectl)))
	w.prependPath(dir)
	return dir
}

// encodedAuthority returns the certificate of the authority as a kubeconfig file has it.
func (n *internet) encodedAuthority(t *testing.T) string {
	t.Helper()
	return base64.StdEncoding.EncodeToString([]byte(testkit.ReadFile(t, n.authority())))
}

// kubernetesAnswer returns what the cluster answers to a request, and whether the request is for
// the cluster: it has one kind of resource, of which there is one.
func kubernetesAnswer(r *http.Request) (answer string, ok bool) {
	if r.Host != clusterHost {
		return "", false
	}
	switch strings.TrimRight(r.URL.Path, "/") {
	case "/version":
		return `{"major":"1","minor":"33","gitVersion":"v1.33.0"}`, true
	case "/api":
		return `{"kind":"APIVersions","versions":["v1"]}`, true
	case "/apis":
		return `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`, true
	case "/api/v1":
		return `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"namespaces","singularName":"","namespaced":false,"kind":"Namespace","verbs":["get","list"]}]}`, true
	case "/api/v1/namespaces":
		return `{"kind":"NamespaceList","apiVersion":"v1","metadata":{},"items":[{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"notes"}}]}`, true
	}
	return `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, true
}
