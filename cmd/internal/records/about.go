package records

import (
	"bytes"
	"encoding/json"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// About says what runs as a server, and for which client. It has its own file beside the
// record, because it is written early in a session, and only if it has changed.
type About struct {
	Command []string `json:"command"` // as the user gave it, without values of secret variables
	Client  Client   `json:"client"`  // of the last session that named one
	Package *Package `json:"package,omitempty"`
	Name    string   `json:"name,omitempty"`    // by which people call the server, if it is kept under another one
	Project string   `json:"project,omitempty"` // the project's file whose own server it is
	Waived  []string `json:"waived,omitempty"`  // the axes whose gaps the policy of the last session accepts
	// Configuration says which files gave the last session its policy.
	Configuration *Configuration `json:"configuration,omitempty"`
}

// Configuration says which files gave a session its policy, and has a digest of what they said.
type Configuration struct {
	ID         string   `json:"id,omitempty"`        // of its file: the id of a server, or the key of a command after --
	Files      []string `json:"files,omitempty"`     // of --config; without them the usual layers
	Workspace  string   `json:"workspace,omitempty"` // where a project's file was looked for
	Configured bool     `json:"configured"`          // else it has a command after --
	Stateful   bool     `json:"stateful"`
	Digest     string   `json:"digest"` // of its table and the defaults
}

// Client has the name and version that a client gives for itself.
type Client struct {
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
}

// Package is the installed package that a session ran.
type Package struct {
	Ecosystem string `json:"ecosystem"`
	Spec      string `json:"spec"` // with the ecosystem, the key in mcp-jail.lock
	Name      string `json:"name"`
	Version   string `json:"version"`
}

// maxClientText bounds the bytes that are kept of a client's name, and of its version.
const maxClientText = 200

// ReadAbout returns the About of a server. It is zero if there is no readable file, or if another
// user could have written it.
func ReadAbout(host hostfs.Host, server string) About {
	d, err := Open(host, server)
	if err != nil {
		return About{}
	}
	defer d.Close()
	return d.About()
}

// About returns the About of the server, as ReadAbout does.
func (d Dir) About() (a About) {
	text, err := d.ReadFile(aboutFile, maxFile)
	if err != nil || json.Unmarshal(text, &a) != nil {
		return About{}
	}
	return a
}

// ClientNamed saves the name and version that the client gives for itself. It is the ClientNamed
// of the session.
func (k *Recorder) ClientNamed(name, version string) {
	k.aboutMu.Lock()
	k.client = Client{name[:min(len(name), maxClientText)], version[:min(len(version), maxClientText)]}
	k.described = false
	k.aboutMu.Unlock()
	if d, err := makeDir(k.host, k.server); err == nil {
		defer d.Close()
		k.describe(d)
	}
}

// describe writes the About of the server, unless the file has it already. It reports no error:
// no session depends on the file. Without it, the commands of mcp-jail-cli know less of the
// server.
func (k *Recorder) describe(d Dir) {
	k.aboutMu.Lock()
	defer k.aboutMu.Unlock()
	if k.described || k.unsafe != nil || k.About == nil {
		return
	}
	k.described = true
	about := k.About()
	if about.Client = k.client; about.Client.Name == "" {
		about.Client = d.About().Client
	}
	text, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return
	}
	text = append(text, '\n')
	if now, err := d.ReadFile(aboutFile, maxFile); err == nil && bytes.Equal(now, text) {
		return
	}
	_ = d.Replace(aboutFile, text, private.How{})
}
