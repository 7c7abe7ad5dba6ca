package config

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
)

// Decode reads one file that is the whole configuration. Its error is [policy.Problems]:
// all problems of the file at once, each with file, line and key. It does not read the
// disk; file is only a name.
func Decode(data []byte, file string) (*Config, error) {
	c, problems := decodeLayer(data, file)
	if len(problems) == 0 {
		problems = c.validate()
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// decodeLayer reads one of several files. It leaves out the checks that need the merged
// configuration, such as that for a missing command.
func decodeLayer(data []byte, file string) (*Config, policy.Problems) {
	if text := strings.TrimLeft(string(data[:min(len(data), 1<<10)]), "\ufeff \t\r\n"); strings.HasPrefix(text, "{") {
		return &Config{}, policy.Problems{{File: file, Line: 1, Message: "is JSON, like a client's configuration, but must be TOML: write [servers.NAME] with command, arguments and variables"}}
	}
	in, root := reader.New(data, file)
	c := &Config{Files: []string{file}}
	in.Read(root, "", value{Kind: toml.Table, Keys: c.keys()})
	return c, in.Problems
}
