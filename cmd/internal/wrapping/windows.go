package wrapping

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/windows"
)

// Reasons why it is unclear how an entry that names wsl.exe starts.
const (
	OtherWSL  clients.Reason = "starts mcp-jail by wsl.exe in another Linux, or with options that mcp-jail does not write, and which jail its server gets is not known"
	NoWindows clients.Reason = "starts mcp-jail by wsl.exe, as a client on Windows does"
)

// OnWindows reports whether the file is that of a client on a Windows of which this Linux shows the disk.
func OnWindows(f *File) bool { return f.host.Mounted }

// launched returns why it is unclear what a line starts that has words before mcp-jail, or "".
func (j judge) launched(line clients.Wrapped) (clients.Reason, *Repair) {
	distribution, plain, isWSL := line.WSL()
	switch {
	case isWSL && !OnWindows(j.file):
		return NoWindows, nil
	case isWSL && plain && distribution == windows.Distribution():
		return "", nil
	case isWSL || OnWindows(j.file):
		return OtherWSL, nil
	}
	return repair(Launched + " (" + clients.Reason(strings.Join(append(slices.Clone(line.Launcher), line.Program), " ")) + ")")
}
