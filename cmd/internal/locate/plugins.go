package locate

import (
	"path/filepath"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/clients/plugins"
)

// Plugins returns the plugins of a client.
func Plugins(c clients.Client, host clients.Host) []*plugins.Plugin {
	return plugins.Find(c, host, plugins.Look{
		Find: Existing,
		Real: filepath.EvalSymlinks,
		Read: func(path string) ([]byte, error) {
			file, err := ownfile.Read(path)
			if err != nil {
				return nil, err
			}
			return file.Data, nil
		},
	})
}
