package pkgcmd

import (
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/packages/store"
)

// storedList is the output of list --format json.
type storedList struct {
	Servers   []storedServer   `json:"servers"`
	Unpinned  []storedPackage  `json:"unpinned"`
	Leftovers []storedLeftover `json:"leftovers"`
	Bytes     int64            `json:"bytes"`
}

type storedServer struct {
	Name         string          `json:"name"`
	Project      string          `json:"project,omitempty"`
	Called       string          `json:"called"` // by people
	Command      []string        `json:"command,omitempty"`
	Client       *storedClient   `json:"client,omitempty"`
	Package      *serverPackage  `json:"package,omitempty"`
	Waived       []string        `json:"waived,omitempty"`
	Running      bool            `json:"running"`
	LastUsed     time.Time       `json:"last_used"`
	LastFailure  *stored.Failure `json:"last_failure,omitempty"`
	Bytes        int64           `json:"bytes"`
	HomeBytes    int64           `json:"home_bytes"`
	PackageBytes int64           `json:"package_bytes"`
	RecordBytes  int64           `json:"record_bytes"`
	Homes        []stored.Home   `json:"homes,omitempty"`
}

type storedClient struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type serverPackage struct {
	Ecosystem string `json:"ecosystem"`
	Name      string `json:"name"`
	Version   string `json:"version"`
	Spec      string `json:"spec"`
	Pinned    bool   `json:"pinned"`
}

type storedPackage struct {
	Ecosystem string `json:"ecosystem"`
	Name      string `json:"name"`
	Version   string `json:"version"`
	Bytes     int64  `json:"bytes"`
	Path      string `json:"path"`
}

type storedLeftover struct {
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	LastUsed time.Time `json:"last_used"`
	Busy     bool      `json:"busy"`
}

func listOf(all *stored.All) storedList {
	out := storedList{Servers: []storedServer{}, Unpinned: packagesOf(all.Unpinned), Leftovers: leftoversOf(all.Leftovers)}
	for _, s := range all.Servers {
		out.Servers = append(out.Servers, serverOf(s))
		out.Bytes += s.HomeBytes() + s.Records
	}
	for _, t := range all.Trees() {
		out.Bytes += t.Bytes
	}
	for _, l := range all.Leftovers {
		out.Bytes += l.Bytes
	}
	return out
}

func serverOf(s *stored.Server) storedServer {
	out := storedServer{
		Name: s.Name, Project: s.About.Project, Called: s.Called(), Command: s.About.Command, Waived: s.About.Waived, Running: s.Running, LastUsed: s.Used,
		Bytes: s.Bytes(), HomeBytes: s.HomeBytes(), PackageBytes: s.PackageBytes(), RecordBytes: s.Records,
		LastFailure: s.Failure, Homes: s.Homes,
	}
	if cl := s.About.Client; cl.Name != "" {
		out.Client = &storedClient{cl.Name, cl.Version}
	}
	if p := s.About.Package; p != nil {
		out.Package = &serverPackage{p.Ecosystem, p.Name, p.Version, p.Spec, false}
	}
	if len(s.Pins) > 0 {
		e := s.Pins[0]
		out.Package = &serverPackage{string(e.Ecosystem), e.Name, e.Version, e.Spec, true}
	}
	return out
}

func packagesOf(trees []store.Info) []storedPackage {
	out := []storedPackage{}
	for _, t := range trees {
		out = append(out, storedPackage{t.ID.Ecosystem, t.ID.Name, t.ID.Version, t.Bytes, t.Path()})
	}
	return out
}

func leftoversOf(all []stored.Leftover) []storedLeftover {
	out := []storedLeftover{}
	for _, l := range all {
		out = append(out, storedLeftover{l.Path, l.Bytes, l.Used, l.Busy})
	}
	return out
}
