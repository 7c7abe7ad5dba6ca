package doctorcmd

import (
	"cmp"

	"github.com/mcp-jail/mcp-jail/packages/runtime"
)

// lookNPMOfWindows looks for the npm that installs packages on Windows: node.exe runs its script.
func lookNPMOfWindows(i *installation, names []string) tool {
	t := tool{Name: "npm", For: names}
	found := runtime.NPMOfWindows(&i.host, func(string) string { return "" })
	if found.Dir == "" {
		t.why = cmp.Or(found.Refused, "npm was not found in PATH, or beside node.exe")
		return t
	}
	t.Path, t.Version = found.Script(), i.npmVersion(found.Dir+`\package.json`)
	return t
}

// howToGetNode returns how a user gets Node.js with npm on a system.
func howToGetNode(system string) string {
	if system == "windows" {
		return "install Node.js with npm, for example by  winget install OpenJS.NodeJS.LTS"
	}
	return "install Node.js with npm, for example nodejs and npm of your distribution"
}
