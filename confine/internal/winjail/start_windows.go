package winjail

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/mcp-jail/mcp-jail/confine/internal/step"
)

// The steps of a start, by which an error names what failed.
const (
	StepJob       = "job object"
	StepToken     = "restricted token"
	StepResume    = "resume"
	StepDirectory = "create directory"
	StepLabel     = "integrity label"
)

var resumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// Process is a program in its job.
type Process struct {
	cmd *exec.Cmd
	mu  sync.Mutex
	job windows.Handle // 0 once it is closed
}

// Start starts a program, whose standard streams are files. It returns once the program runs. An error is
// a *step.Error, and then nothing of the program has run.
func Start(cmd *exec.Cmd, l Limits) (*Process, error) {
	token, err := lowToken()
	if err != nil {
		return nil, step.Wrap(StepToken, err)
	}
	defer token.Close()
	job, err := l.newJob()
	if err != nil {
		return nil, step.Wrap(StepJob, err)
	}
	p := &Process{cmd: cmd, job: job}
	cmd.SysProcAttr = &syscall.SysProcAttr{Token: syscall.Token(token), CreationFlags: l.creation()}
	if err := cmd.Start(); err != nil {
		p.closeJob()
		return nil, step.Wrap(step.Exec, step.On(cmd.Path, err))
	}
	if err := p.resumeInJob(); err != nil {
		cmd.Process.Kill() // it is suspended, and perhaps in no job
		cmd.Wait()
		p.closeJob()
		return nil, err
	}
	return p, nil
}

// resumeInJob puts the suspended process into its job, and lets it run.
func (p *Process) resumeInJob() (err error) {
	held := p.cmd.Process.WithHandle(func(handle uintptr) {
		if failed := windows.AssignProcessToJobObject(p.job, windows.Handle(handle)); failed != nil {
			err = step.Wrap(StepJob, failed)
		} else if status, _, _ := resumeProcess.Call(handle); status != 0 {
			err = step.Wrap(StepResume, fmt.Errorf("status %#x", status))
		}
	})
	if held != nil {
		return step.Wrap(StepJob, held)
	}
	return err
}

// creation returns the flags with which the process is made. A console without a window, which the children
// of a server then have too, is a process of Windows. One that may have no children gets none.
func (l Limits) creation() uint32 {
	flags := uint32(windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP)
	if l.Processes == 1 {
		return flags | windows.DETACHED_PROCESS
	}
	return flags | windows.CREATE_NO_WINDOW
}

// PID returns the process ID of the program.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Wait returns the exit status of the program once it has ended, and ends what it has started.
func (p *Process) Wait() (int, error) {
	err := p.cmd.Wait()
	p.closeJob()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = nil
	}
	return p.cmd.ProcessState.ExitCode(), err
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

// closeJob closes the last handle of the job, which ends every process that is left in it.
func (p *Process) closeJob() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job != 0 {
		windows.CloseHandle(p.job)
		p.job = 0
	}
}
