package wrapping

import (
	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/presets"
)

// choosesHost returns why a project's entry is left: it chooses the host to which a secret of the
// user is sent by a preset. The entry may choose the host for a secret that it gives itself. A
// secret that the server needs counts as one of the user's, whether it is set now or not.
func (s Entry) choosesHost(p *presets.Preset, argv []string, fromFile []string, host clients.Host) clients.Reason {
	if !s.isProject() {
		return ""
	}
	e := presets.Entry{Env: map[string]string{}}
	for _, v := range s.Env {
		if !v.Unset {
			e.Env[v.Name] = v.Value
		}
	}
	own := map[string]bool{} // variables of which the entry itself has the value
	for name, value := range e.Env {
		own[name] = value != "" && !s.isOfUser(value)
	}
	line, err := runline.Parse(argv)
	switch {
	case err == nil:
		e.Args = line.Args
		for _, a := range line.Env {
			e.Env[a.Name] = a.Value
		}
	case len(argv) > 0:
		e.Args = argv[1:]
	}
	for _, name := range fromFile {
		e.Env[name] = "of " + s.EnvFile
	}
	// An entry may choose a host, but not one that a secret of the user goes to.
	for _, chosen := range p.Chosen(e) {
		secret := chosen.Secret
		set := host.Env != nil && host.Env(secret.Name) != "" || e.Env[secret.Name] != ""
		if s.isReference(chosen.Value) || own[secret.Name] || chosen.IsGivenBy(p, e) || !set && !secret.Required {
			continue
		}
		return clients.Reason("chooses with " + chosen.Label + " the host that your secret " + secret.Name + " is sent to: set " + chosen.Label +
			" in your own environment in place of the entry, or move the entry into a file of your own")
	}
	return ""
}

// isOfUser reports whether a value has a part that the client takes from the user's environment, a
// file, or what else it keeps. What the client asks its user for is meant for the entry.
func (s Entry) isOfUser(value string) bool {
	for _, r := range s.by.client.References(value) {
		if r.Kind != clients.Input {
			return true
		}
	}
	return false
}

// isReference reports whether a value is a variable of the user's environment, and nothing more.
func (s Entry) isReference(value string) bool {
	refs := s.by.client.References(value)
	return len(refs) == 1 && refs[0].Text == value && refs[0].Kind == clients.FromEnv && refs[0].Default == ""
}
