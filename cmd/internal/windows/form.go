package windows

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/winpath"
)

// CheckForm returns an error if this is Windows, and mcp-jail starts no server whose program, or whose
// directory, is written so: as a stream, a device, a short name, or a file of another machine. A client would
// start it, and the server would be gone after wrap. What a Linux of WSL has is not asked about.
func CheckForm(program, dir string, host clients.Host) error {
	if host.OS != "windows" || host.Mounted {
		return nil
	}
	if program != "" && !ofLinux().MatchString(program) {
		if _, err := winpath.Clean(inDrive(program)); err != nil {
			return err
		}
	}
	if dir != "" && !ofLinux().MatchString(dir) {
		return winpath.CheckFile(inDrive(dir))
	}
	return nil
}

// inDrive returns a path that has a drive or a machine, and puts another one into a drive.
func inDrive(path string) string {
	if path = strings.ReplaceAll(path, "/", `\`); len(path) > 1 && path[1] == ':' || strings.HasPrefix(path, `\\`) || strings.HasPrefix(path, `\??\`) {
		return path
	}
	return `C:\` + path
}
