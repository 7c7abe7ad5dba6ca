package kernel

// A sandbox is what runs around this process, as far as files and variables that it may have left
// say so. Advice depends on it, and nothing that a jail enforces.
type sandbox struct {
	name    string // "" is none that is known
	outside string // how to start outside of it; "" is a container, which has options of its own
}

// sandboxAround returns the innermost sandbox that is known. init is the name of process 1.
func sandboxAround(exists func(file string) bool, getenv func(name string) string, init string) sandbox {
	const outside = "start mcp-jail outside the sandbox"
	switch {
	case exists("/.flatpak-info"):
		return sandbox{"Flatpak", "start it outside of Flatpak's sandbox (flatpak-spawn --host mcp-jail …), or use a client that is no Flatpak"}
	case getenv("SANDBOX_RUNTIME") != "":
		return sandbox{"srt, as Claude Code and VS Code start it", outside + " of srt"}
	case getenv("CODEX_SANDBOX_NETWORK_DISABLED") != "" || getenv("CODEX_SANDBOX") != "":
		return sandbox{"Codex's sandbox", outside + " of Codex, as it starts MCP servers itself"}
	case init == "bwrap":
		return sandbox{"bubblewrap (bwrap)", outside}
	case getenv("SNAP_NAME") != "":
		return sandbox{"a snap", "use a client that is no snap, or one of classic confinement"}
	case exists("/run/.containerenv"):
		return sandbox{name: "a container of Podman"}
	case exists("/.dockerenv"):
		return sandbox{name: "a container of Docker"}
	case getenv("KUBERNETES_SERVICE_HOST") != "":
		return sandbox{name: "a pod of Kubernetes"}
	}
	return sandbox{}
}
