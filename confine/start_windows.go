package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// The steps of a start, by which an error names what failed.
const (
	stepJob       = "job object"
	StepToken     = "restricted token"
	StepResume    = "resume"
	StepDirectory = "create directory"
	StepLabel     = "integrity label"
)

var resumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// jobProcess is a program in its job.
type jobProcess struct {
	cmd *exec.Cmd
	mu  sync.Mutex
	job windows.Handle // 0 once it is closed
}

// startInJob starts a program, whose standard streams are files. It returns once the program runs. An error is
// a *sys.Error, and then nothing of the program has run.
func startInJob(cmd *exec.Cmd, l jobLimits) (*jobProcess, error) {
	token, err := lowToken()
	if err != nil {
		return nil, sys.Wrap(StepToken, err)
	}
	defer token.Close()
	job, err := l.newJob()
	if err != nil {
		return nil, sys.Wrap(stepJob, err)
	}
	p := &jobProcess{cmd: cmd, job: job}
	cmd.SysProcAttr = &syscall.SysProcAttr{Token: syscall.Token(token), CreationFlags: l.creation()}
	if err := cmd.Start(); err != nil {
		p.closeJob()
		return nil, sys.Wrap(sys.Exec, sys.On(cmd.Path, err))
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
func (p *jobProcess) resumeInJob() (err error) {
	held := p.cmd.Process.WithHandle(func(handle uintptr) {
		if failed := windows.AssignProcessToJobObject(p.job, windows.Handle(handle)); failed != nil {
			err = sys.Wrap(stepJob, failed)
		} else if status, _, _ := resumeProcess.Call(handle); status != 0 {
			err = sys.Wrap(StepResume, fmt.Errorf("status %#x", status))
		}
	})
	if held != nil {
		return sys.Wrap(stepJob, held)
	}
	return err
}

// creation returns the flags with which the process is made. A console without a window, which the children
// of a server then have too, is a process of Windows. One that may have no children gets none.
func (l jobLimits) creation() uint32 {
	flags := uint32(windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP)
	if l.Processes == 1 {
		return flags | windows.DETACHED_PROCESS
	}
	return flags | windows.CREATE_NO_WINDOW
}

// PID returns the process ID of the program.
func (p *jobProcess) PID() int { return p.cmd.Process.Pid }

// Wait returns the exit status of the program once it has ended, and ends what it has started.
func (p *jobProcess) Wait() (int, error) {
	err := p.cmd.Wait()
	p.closeJob()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = nil
	}
	return p.cmd.ProcessState.ExitCode(), err
}

// Kill ends every process of the job, with an exit status.
func (p *jobProcess) Kill(code int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job == 0 {
		return os.ErrProcessDone
	}
	return windows.TerminateJobObject(p.job, uint32(code))
}

// closeJob closes the last handle of the job, which ends every process that is left in it.
func (p *jobProcess) closeJob() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job != 0 {
		windows.CloseHandle(p.job)
		p.job = 0
	}
}

// jobLimits bounds the processes of a job. 0 is no limit.
type jobLimits struct {
	Processes int
	MemoryMB  int // that all of them commit together
}

// newJob makes a job. No process inherits its handle, and the job has no name: it ends when this process
// does.
func (l jobLimits) newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	basic := &info.BasicLimitInformation
	basic.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
	if l.Processes > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		basic.ActiveProcessLimit = uint32(l.Processes)
	}
	if l.MemoryMB > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		info.JobMemoryLimit = uintptr(l.MemoryMB) << 20
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}
