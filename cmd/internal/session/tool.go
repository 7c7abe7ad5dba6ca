package session

import (
	"sync"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Tool returns the target of one tool, with its policy resolved on the host now.
func (t *Target) Tool(name string) (*Target, error) {
	return t.toolOn(name, t.Host)
}

func (t *Target) toolOn(name string, host hostfs.Host) (*Target, error) {
	tool := &Target{Config: t.Config, PolicyOf: t.PolicyOf, Host: t.Host, isTool: true}
	var err error
	if tool.Policy, err = t.PolicyOf(name); err != nil {
		return tool, err
	}
	if tool.Profile, tool.Warnings, err = resolveProfile(tool.Policy, host, nil); err != nil {
		return tool, err
	}
	return tool, checkPreset(t, tool.Profile)
}

// toolCache caches the targets of tools. An entry is valid while the host gives the same
// answers as when the target was resolved. Asking again is cheaper than resolving.
type toolCache struct {
	mu     sync.Mutex
	server *Target // the server of the tools in byName
	byName map[string]*cachedTool
}

type cachedTool struct {
	*Target
	lookups hostfs.Recording
}

// maxCachedTools bounds the cache: the answers of a host with a large workspace are many.
const maxCachedTools = 32

func (k *toolCache) get(server *Target, name string) (*Target, error) {
	k.mu.Lock()
	if k.server != server {
		k.server, k.byName = server, nil
	}
	known := k.byName[name]
	k.mu.Unlock()
	if known != nil && known.lookups.Unchanged() {
		return known.Target, nil
	}
	// Resolving takes long, so other calls do not wait for it.
	found := &cachedTool{}
	var err error
	if found.Target, err = server.toolOn(name, found.lookups.Record(server.Host)); err != nil {
		return found.Target, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.server != server { // the configuration has changed meanwhile
		return found.Target, nil
	}
	if k.byName == nil || len(k.byName) == maxCachedTools {
		k.byName = make(map[string]*cachedTool)
	}
	k.byName[name] = found
	return found.Target, nil
}
