package programs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/windows"
)

// execute runs another program as a child and exits with its status: this system cannot put it in the
// place of this process. The child ends with this process, however that ends. It decides itself what an
// interrupt of the terminal does, which both get.
func execute(path string, argv, env []string) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	job, err := endsWithThis()
	if err != nil {
		return err
	}
	child := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	if err := child.Start(); err != nil {
		return err
	}
	err = child.Process.WithHandle(func(h uintptr) { err = windows.AssignProcessToJobObject(job, windows.Handle(h)) })
	if err != nil {
		_ = child.Process.Kill()
		return fmt.Errorf("it cannot be put into a job: %w", err)
	}
	err = child.Wait()
	var failed *exec.ExitError
	if err == nil || errors.As(err, &failed) {
		os.Exit(child.ProcessState.ExitCode())
	}
	return err
}

// endsWithThis returns a job whose process ends when this one does. What that process starts is in no job
// by this, since servers get one of their own, which Windows limits less in another.
func endsWithThis() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	return job, err
}
