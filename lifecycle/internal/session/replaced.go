package session

import (
	"path/filepath"
	"runtime"
	"slices"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// replaced returns the files for which rules of their own give rights that their folders do not have, and that are
// other files by now, or gone. Mounts and Landlock hold the file of the start.
func (s *Server) replaced() (files []string) {
	if runtime.GOOS != "linux" {
		return nil
	}
	for _, e := range s.Profile.Entries {
		if e.Kind == policy.KindFile && e.Origin == policy.OriginRule && e.Rights&^s.Profile.RightsAt(filepath.Dir(e.Path)) != 0 {
			if now, seen := s.Client.Config.Known.Host.Identity(e.Path); seen && now != e.ID {
				files = append(files, e.Path)
			}
		}
	}
	return files
}

// tellReplaced adds to an answer that a file was replaced, once for each: without a word, the user would take what the
// server has read for what the file has now.
func (s *Server) tellReplaced(f *mcpproxy.Frame, e *mcpproxy.Envelope, c *mcpproxy.Call) {
	if !e.Content.Present() {
		return
	}
	for _, file := range s.replaced() {
		if slices.Contains(s.toldReplaced, file) {
			continue
		}
		s.toldReplaced = append(s.toldReplaced, file)
		d := diagnose.OfReplaced(s.Evidence(diagnostics.StageCall, c, c.Start), file)
		s.recordDiagnosis(d)
		f.AddElement(&e.Content, d.ResultBlock())
	}
}
