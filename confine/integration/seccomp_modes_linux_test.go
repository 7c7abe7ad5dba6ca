package integration

import "github.com/mcp-jail/mcp-jail/confine/internal/seccomp"

// seccompModes are the kinds of filters that plans use.
var seccompModes = map[string]seccomp.SeccompOptions{
	"strict":     {},
	"bare":       {Truncate: true},
	"bare-net":   {Inet: true},
	"namespaces": {Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true},
	"programs":   {Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true, Programs: true},
	"netlink":    {Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true, RouteNetlink: true},
	"sockets":    {Truncate: true, Supervised: true, Sockets: true},
	"supervised": {Unix: true, Inet: true, OwnPIDs: true, OwnIPC: true, Truncate: true, Attributes: true, Supervised: true},
}
