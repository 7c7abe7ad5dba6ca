package policy_test

import (
	"errors"
	"fmt"

	"github.com/mcp-jail/mcp-jail/policy"
)

func ExampleDecode() {
	_, err := policy.Decode([]byte(`
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
	config, err := policy.Decode([]byte(`
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
	p, err := config.Policy("github", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, host := range []string{"api.github.com", "api.github.com.evil.com"} {
		_, ok := policy.MatchNet(p.Net, host, "https", 443, "/", "")
		fmt.Println(host, ok)
	}
	fmt.Println(p.Remarks()[0])
	// Output:
	// api.github.com true
	// api.github.com.evil.com false
	// mcp-jail.toml:2: access declares no fs rule: the workspace cannot be reached
}

func ExampleInPlace() {
	p, err := policy.InPlace(policy.InPlaceOptions{
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

func ExampleProfile_Allows() {
	p := policy.Profile{Entries: []policy.Entry{
		{Path: "/work", Rights: policy.Read | policy.Write},
		{Path: "/work/.git/hooks", Rights: policy.Read},
	}}
	fmt.Println(p.Allows(policy.OpCreate, "/work/new.txt"))
	fmt.Println(p.Allows(policy.OpCreate, "/work/.git/hooks/pre-commit"))
	fmt.Println(p.AllowsRename("/work/.git", "/work/git.old")) // the way to a protected name is pinned
	// Output:
	// true
	// false
	// false
}

func ExampleNormalizeHost() {
	for _, host := range []string{"*.Bücher.example.", "0x7f.1"} {
		normal, err := policy.NormalizeHost(host)
		fmt.Printf("%q %v\n", normal, err)
	}
	// Output:
	// "*.xn--bcher-kva.example" <nil>
	// "" "0x7f.1" is an IPv4 address in an octal, hexadecimal or short form, which is refused: write four decimal numbers
}

func ExampleResolve() {
	host, err := policy.LocalHost()
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := policy.InPlace(policy.InPlaceOptions{Command: []string{"no-such-server"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _, err = policy.Resolve(p, host)
	var missing *policy.CommandError
	fmt.Println(errors.As(err, &missing), missing.Reason)
	// Output:
	// true was not found
}
