package wrapping

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/windows"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping/internal/meaning"
)

// Reasons why it is unclear how an entry that names wsl.exe starts.
const (
	OtherWSL  clients.Reason = "starts mcp-jail by wsl.exe in another Linux, or with options that mcp-jail does not write, and which jail its server gets is not known"
	NoWindows clients.Reason = "starts mcp-jail by wsl.exe, as a client on Windows does"
)

// OtherForm is the reason why an entry is left that mcp-jail would refuse to start. Detail says why.
const OtherForm clients.Reason = "has a program or a directory in a form that mcp-jail does not start on Windows"

// checkForm returns why mcp-jail would refuse to start an entry, for the form of its program or its directory.
func checkForm(e Entry, host clients.Host) error {
	replaced := func(word string) string {
		text, _ := meaning.Replaced(e.by.client, word, host)
		return text
	}
	program := ""
	if argv := e.Argv(); len(argv) > 0 {
		program = replaced(argv[0])
	}
	return windows.CheckForm(program, replaced(e.Cwd), host)
}

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
