package presets_test

import (
	"fmt"

	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/presets"
)

// A client's entry for a package becomes a server, with the token as a secret.
func Example() {
	p, ok := presets.ForPackage(presets.NPM, "tavily-mcp")
	if !ok {
		return
	}
	applied := p.For(presets.Entry{Env: map[string]string{"TAVILY_API_KEY": "tvly-…", "PAGER": "less"}})
	server := *applied.Server
	server.Command, server.Arguments = "npx", []string{"-y", "tavily-mcp"}
	c := config.Config{Servers: map[string]*config.Server{server.Name: &server}}
	fmt.Print(string(c.Encode()))
	fmt.Println("# not forwarded:", applied.Unknown)
	// Output:
	// [servers.tavily]
	// command = "npx"
	// arguments = ["-y", "tavily-mcp"]
	//
	// [servers.tavily.access]
	// workspace = "none"
	//
	// [[servers.tavily.access.net]]
	// host = "api.tavily.com"
	// scheme = "https"
	// secret = { env = "TAVILY_API_KEY", header = "Authorization" }
	// allow = true
	// # not forwarded: [PAGER]
}
