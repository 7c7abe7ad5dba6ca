package doctorcmd

import (
	"cmp"

	"github.com/mcp-jail/mcp-jail/internal/winpath"
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

// lookPipOfWindows looks for the pip of an interpreter, which fetches packages of Python on Windows.
func lookPipOfWindows(i *installation, python tool, names []string) tool {
	t := tool{Name: "pip", For: names, why: "there is no Python whose pip could be looked for"}
	if python.Path == "" {
		return t
	}
	dir := winpath.Dir(python.Path) + `\Lib\site-packages\pip`
	if info, err := i.host.Lstat(dir); err != nil || !info.Mode.IsDir() {
		t.why = "there is no pip for " + i.short(python.Path)
		return t
	}
	t.Path, t.Version = dir, i.pipVersion(dir)
	return t
}

// whatPipIsFor returns why packages of Python are not fetched on a system without pip, and what helps.
func whatPipIsFor(system string) (why, fix string) {
	if system == "windows" {
		return "It fetches packages of Python on Windows. Servers whose packages are installed start without it", "install it for this Python:  py -m ensurepip"
	}
	return "One of the two fetches packages of Python. Servers whose packages are installed start without it", "install uv, or pip for this Python (python3-pip)"
}

// howToGetNode returns how a user gets Node.js with npm on a system.
func howToGetNode(system string) string {
	if system == "windows" {
		return "install Node.js with npm, for example by  winget install OpenJS.NodeJS.LTS"
	}
	return "install Node.js with npm, for example nodejs and npm of your distribution"
}
