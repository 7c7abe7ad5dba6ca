package programs

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// attributeJobList is an attribute of a process that x/sys/windows has no name for: the jobs that it is
// made in.
const attributeJobList = 0x2000d

// execute runs another program as a child and exits with its status: this system cannot put it in the
// place of this process. The child ends with this process, however that ends: it is made in a job that does
// so. It decides itself what an interrupt of the terminal does, which both get.
func execute(path string, argv, env []string) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	job, err := endsWithThis()
	if err != nil {
		return fmt.Errorf("there is no job for it: %w", err)
	}
	child, err := startInJob(job, path, argv, env)
	if err != nil {
		return err
	}
	if _, err := windows.WaitForSingleObject(child, windows.INFINITE); err != nil {
		return err
	}
	var status uint32
	if err := windows.GetExitCodeProcess(child, &status); err != nil {
		return err
	}
	os.Exit(int(status))
	return nil
}

// startInJob starts a program in a job, with the standard files of this process and no other handle.
func startInJob(job windows.Handle, path string, argv, env []string) (windows.Handle, error) {
	program, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	line, err := windows.UTF16PtrFromString(windows.ComposeCommandLine(argv))
	if err != nil {
		return 0, err
	}
	block, err := environmentBlock(env)
	if err != nil {
		return 0, err
	}
	handles, err := standardFiles()
	defer func() {
		for _, h := range handles {
			windows.CloseHandle(h)
		}
	}()
	if err != nil {
		return 0, err
	}
	list, err := windows.NewProcThreadAttributeList(2)
	if err != nil {
		return 0, err
	}
	defer list.Delete()
	if err := list.Update(attributeJobList, unsafe.Pointer(&job), unsafe.Sizeof(job)); err != nil {
		return 0, fmt.Errorf("it cannot be made in a job: %w", err)
	}
	if err := list.Update(windows.PROC_THREAD_ATTRIBUTE_HANDLE_LIST, unsafe.Pointer(&handles[0]), uintptr(len(handles))*unsafe.Sizeof(job)); err != nil {
		return 0, err
	}
	start := windows.StartupInfoEx{ProcThreadAttributeList: list.List()}
	start.Cb, start.Flags = uint32(unsafe.Sizeof(start)), windows.STARTF_USESTDHANDLES
	start.StdInput, start.StdOutput, start.StdErr = handles[0], handles[1], handles[2]
	var info windows.ProcessInformation
	err = windows.CreateProcess(program, line, nil, nil, true, windows.CREATE_UNICODE_ENVIRONMENT|windows.EXTENDED_STARTUPINFO_PRESENT, &block[0], nil, &start.StartupInfo, &info)
	if err != nil {
		return 0, err
	}
	windows.CloseHandle(info.Thread)
	return info.Process, nil
}

// environmentBlock returns variables in the form that Windows takes. Of two with one name, it has the last.
func environmentBlock(env []string) (block []uint16, err error) {
	seen := map[string]bool{}
	for _, v := range slices.Backward(env) {
		name := v // C:=C:\dir, the working directory of a drive, begins with an equals sign
		if i := strings.IndexByte(v[min(1, len(v)):], '='); i >= 0 {
			name = strings.ToUpper(v[:i+1])
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		text, err := windows.UTF16FromString(v)
		if err != nil {
			return nil, err
		}
		block = append(block, text...)
	}
	return append(block, 0), nil
}

// standardFiles returns copies of the standard files that a child can inherit; NUL for each that this
// process does not have. Also with an error, the caller closes what is returned.
func standardFiles() (out []windows.Handle, err error) {
	self := windows.CurrentProcess()
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		var h windows.Handle
		err := windows.DuplicateHandle(self, windows.Handle(f.Fd()), self, &h, 0, true, windows.DUPLICATE_SAME_ACCESS)
		if err != nil {
			null, opened := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			if opened != nil {
				return out, opened
			}
			err = windows.DuplicateHandle(self, windows.Handle(null.Fd()), self, &h, 0, true, windows.DUPLICATE_SAME_ACCESS)
			null.Close()
		}
		if err != nil {
			return out, err
		}
		out = append(out, h)
	}
	return out, nil
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
