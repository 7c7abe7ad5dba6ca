package winjail

import (
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/mcp-jail/mcp-jail/confine/internal/step"
)

// Command is what to start. The files are standard input, output and error; nil is NUL.
type Command struct {
	Program string
	Argv    []string
	Env     []string
	Dir     string
	Stdio   [3]*os.File
	// Extra are handles that the process inherits besides. Only the self-test has any.
	Extra []windows.Handle
	// Tell is called for each Report, and no longer once Release has returned. nil: for none.
	Tell func(Report)
}

// Process is a program in its job.
type Process struct {
	PID    int
	handle windows.Handle
	mu     sync.Mutex
	job    windows.Handle // 0 once it is closed
	port   *port          // nil if nothing is told
}

// Start starts a program that is confined as in says. It returns once the program runs. An error is a
// *step.Error, and then nothing of the program has run.
func Start(c Command, in Input) (*Process, error) {
	job, err := newJob(in)
	if err != nil {
		return nil, err
	}
	var reports *port
	if c.Tell != nil {
		own := func(r Report) {
			if in.Has(r) {
				c.Tell(r)
			}
		}
		if reports, err = listen(job, own); err != nil {
			windows.CloseHandle(job)
			return nil, err
		}
	}
	p, err := startIn(job, c, in)
	if err != nil {
		windows.CloseHandle(job) // ends a process that is suspended in it
		reports.close()
		return nil, err
	}
	p.port = reports
	return p, nil
}

func startIn(job windows.Handle, c Command, in Input) (*Process, error) {
	token, err := restrictedToken()
	if err != nil {
		return nil, step.Wrap(StepToken, err)
	}
	defer token.Close()
	info, err := create(job, token, c, in)
	if err != nil {
		return nil, err
	}
	defer windows.CloseHandle(info.Thread)
	p := &Process{PID: int(info.ProcessId), handle: info.Process, job: job}
	if err := isInJob(job, info.Process); err != nil {
		return nil, p.failed(StepMembership, err)
	}
	if _, err := windows.ResumeThread(info.Thread); err != nil {
		return nil, p.failed(StepResume, err)
	}
	return p, nil
}

// failed ends a process that has not run.
func (p *Process) failed(name string, err error) error {
	windows.TerminateProcess(p.handle, 1)
	windows.CloseHandle(p.handle)
	return step.Wrap(name, err)
}

// create makes the process, suspended and in the job.
func create(job windows.Handle, token windows.Token, c Command, in Input) (*windows.ProcessInformation, error) {
	line, err := CommandLine(c.Argv)
	if err != nil {
		return nil, step.Wrap(StepCommandLine, err)
	}
	block, err := Environment(c.Env)
	if err != nil {
		return nil, step.Wrap(StepEnvironment, err)
	}
	var text [3]*uint16
	for i, s := range []string{c.Program, line, c.Dir} {
		if i == 2 && s == "" {
			break // that of this process
		}
		if text[i], err = windows.UTF16PtrFromString(s); err != nil {
			return nil, step.Wrap(StepCommandLine, err)
		}
	}
	handles, err := inheritable(c.Stdio)
	defer closeAll(handles)
	if err != nil {
		return nil, step.Wrap(StepHandles, err)
	}
	attributes, err := attributesOf(job, append(handles[:3:3], c.Extra...), in.NoChildren)
	if err != nil {
		return nil, err
	}
	defer attributes.Delete()
	start := windows.StartupInfoEx{ProcThreadAttributeList: attributes.List()}
	start.Cb = uint32(unsafe.Sizeof(start))
	start.Flags = windows.STARTF_USESTDHANDLES
	start.StdInput, start.StdOutput, start.StdErr = handles[0], handles[1], handles[2]
	var info windows.ProcessInformation
	if err := windows.CreateProcessAsUser(token, text[0], text[1], nil, nil, true, in.creation(), &block[0], text[2], &start.StartupInfo, &info); err != nil {
		return nil, step.Wrap(step.Exec, step.On(c.Program, err))
	}
	return &info, nil
}

// creation returns the flags with which a process is made. A console without a window, which the children of
// a server then have too, is a process of Windows. One that may have no children gets none.
func (in Input) creation() uint32 {
	flags := uint32(windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_UNICODE_ENVIRONMENT | windows.EXTENDED_STARTUPINFO_PRESENT)
	if in.NoChildren || in.Processes == 1 {
		return flags | windows.DETACHED_PROCESS
	}
	return flags | windows.CREATE_NO_WINDOW
}

// Wait returns the exit status of the program once it has ended. What it has started may go on.
func (p *Process) Wait() (int, error) {
	if _, err := windows.WaitForSingleObject(p.handle, windows.INFINITE); err != nil {
		return 0, err
	}
	var code uint32
	err := windows.GetExitCodeProcess(p.handle, &code)
	return int(code), err
}

// Kill ends every process of the job, with an exit status.
func (p *Process) Kill(code int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job == 0 {
		return os.ErrProcessDone
	}
	return windows.TerminateJobObject(p.job, uint32(code))
}

// CloseJob closes the handle of the job, which ends every process that is left in it.
func (p *Process) CloseJob() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job != 0 {
		windows.CloseHandle(p.job)
		p.job = 0
	}
}

// Release closes the handles of the process and of its job, once every report is told. Call it after Wait.
func (p *Process) Release() {
	p.CloseJob()
	p.port.close()
	windows.CloseHandle(p.handle)
}
