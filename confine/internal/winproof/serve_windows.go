package winproof

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/mcp-jail/mcp-jail/confine/internal/winjail"
)

// name is the first argument of a process that makes an attempt.
const name = "mcp-jail: probe"

// Serve makes one attempt and ends this process, if it was started for that. Otherwise it returns at once.
func Serve() {
	if len(os.Args) < 2 || os.Args[0] != name {
		return
	}
	argument := ""
	if len(os.Args) > 2 {
		argument = os.Args[2]
	}
	fmt.Println(attempt(os.Args[1], argument))
	os.Exit(0)
}

func attempt(do, argument string) string {
	switch do {
	case doNothing:
		return works
	case doEcho:
		echo()
	case doOutlive:
		return outlive()
	case doNested:
		// In a jail with limits of the desktop Windows refuses such a job, and a server would go on.
		if err := ownJob(); err != nil && argument != insideJail {
			return "no job was made: " + err.Error()
		}
		return outlive()
	case doMitigations:
		return mitigations()
	case doStart:
		return outcome(start(doNothing, 0, make([]*os.File, 3)))
	case doCommit:
		_, err := windows.VirtualAlloc(0, commitMB<<20, windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
		return outcome(err)
	case doPrivileges:
		return privileges()
	case doHandle:
		n, err := strconv.ParseUint(argument, 10, 64)
		if err == nil {
			_, err = windows.GetFileType(windows.Handle(n))
		}
		return outcome(err)
	}
	return "an unknown attempt"
}

func outcome(err error) string {
	if err != nil {
		return refused
	}
	return works
}

// start starts this program again for another attempt.
func start(do string, flags uint32, files []*os.File) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p, err := os.StartProcess(self, []string{name, do}, &os.ProcAttr{Files: files, Env: os.Environ(), Sys: &syscall.SysProcAttr{CreationFlags: flags, HideWindow: true}})
	if err != nil {
		return err
	}
	return p.Release()
}

// outlive starts a process that does all it can to go on, and ends before it.
func outlive() string {
	const apart = windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP
	files := []*os.File{os.Stdin, os.Stdout, nil}
	err := start(doEcho, apart|windows.CREATE_BREAKAWAY_FROM_JOB, files)
	if err != nil {
		err = start(doEcho, apart, files)
	}
	if err != nil {
		return "no process was started: " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	os.Exit(0) // the other process answers
	return ""
}

// ownJob puts this process into a job of its own, which lets processes go.
func ownJob() error {
	job, err := windows.CreateJobObject(nil, nil) // its handle ends with this process
	if err != nil {
		return err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_BREAKAWAY_OK | windows.JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		return err
	}
	return windows.AssignProcessToJobObject(job, windows.CurrentProcess())
}

// echo answers each line until there are no more.
func echo() {
	fmt.Println(goesOn)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(in.Text())
	}
	os.Exit(0)
}

func privileges() string {
	var own windows.Token
	if err := windows.OpenProcessToken(windows.CurrentProcess(), windows.TOKEN_QUERY, &own); err != nil {
		return err.Error()
	}
	defer own.Close()
	all, err := winjail.Faults(own)
	switch {
	case err != nil:
		return err.Error()
	case all != nil:
		return strings.Join(all, ", ")
	}
	return none
}
