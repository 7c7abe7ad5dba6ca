package config_test

import (
	"errors"
	"fmt"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

func ExampleDecode() {
	_, err := config.Decode([]byte(`
[servers.notes]
comand = "notes-server"
warm = "yes"
`), "mcp-jail.toml")
	var problems policy.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			fmt.Println(p)
		}
	}
	// Output:
	// mcp-jail.toml:3: servers.notes.comand is not a known key; did you mean command?
	// mcp-jail.toml:4: servers.notes.warm must be an integer, not a string
}

func ExampleConfig_Policy() {
	cfg, err := config.Decode([]byte(`
[servers.github]
command = "npx"
arguments = ["-y", "@modelcontextprotocol/server-github"]

[[servers.github.access.net]]
host = "API.github.com"
scheme = "https"
allow = true
`), "mcp-jail.toml")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := cfg.Policy("github", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, host := range []string{"api.github.com", "api.github.com.evil.com"} {
		_, ok := policy.MatchNet(p.Net, host, "https", 443, "/", "")
		fmt.Println(host, ok)
	}
	// Output:
	// api.github.com true
	// api.github.com.evil.com false
}

func ExampleFromCommandLine() {
	p, err := config.FromCommandLine(config.CommandLineOptions{
		Command: []string{"node", "server.js"},
		Write:   []string{"notes"},
		Net:     []string{"localhost:5432"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Fs[0].Rights(), "from", p.Fs[0].Where)
	fmt.Println(p.Net[0].Host, p.Net[0].Ports())
	// Output:
	// read write from --write notes
	// localhost [5432]
}
