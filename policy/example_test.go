package policy_test

import (
	"fmt"

	"github.com/mcp-jail/mcp-jail/policy"
)

func ExampleProfile_Allows() {
	p := policy.Profile{Entries: []policy.Entry{
		{Path: "/work", Rights: policy.Read | policy.Write},
		{Path: "/work/.git/hooks", Rights: policy.Read},
	}}
	fmt.Println(p.Allows(policy.OpCreate, "/work/new.txt"))
	fmt.Println(p.Allows(policy.OpCreate, "/work/.git/hooks/pre-commit"))
	fmt.Println(p.Allows(policy.OpRemove, "/work/.git")) // the way to a protected name is pinned
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
