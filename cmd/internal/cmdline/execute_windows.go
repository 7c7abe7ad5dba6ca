package cmdline

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/windows"
)

// execute runs another program as a child and exits with its status: this system cannot put it in the
// place of this process. The child ends with this process, however that ends: it is in a job that does so.
// It decides itself what an interrupt of the terminal does, which both get.
func execute(path string, argv, env []string) error {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	job, err := newJob()
	if err != nil {
		return fmt.Errorf("there is no job for it: %w", err)
	}
	child := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if err := child.Start(); err != nil {
		return err
	}
	if err := assign(job, child.Process.Pid); err != nil {
		child.Process.Kill()
		child.Wait()
		return fmt.Errorf("it cannot be put into a job: %w", err)
	}
	_ = child.Wait() // its status says it
	os.Exit(child.ProcessState.ExitCode())
	return nil
}

func assign(job windows.Handle, pid int) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process)
	return windows.AssignProcessToJobObject(job, process)
}

// newJob returns a job whose process ends when this one does. What that process starts is in no job
// by this, since servers get one of their own, which Windows limits less in another.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	return job, err
}
