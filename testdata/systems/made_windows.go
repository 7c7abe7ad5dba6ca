package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// What the jail of the attacker bounds.
const (
	processes = 8
	memoryMB  = 200
)

// granted returns the flags that give the attacker what it may have. Files are not restricted.
func granted(stage, string) []string {
	return []string{"--limit", fmt.Sprint("processes=", processes), "--limit", fmt.Sprint("memory_mb=", memoryMB)}
}

// made returns the attacks. Each returns nil if it succeeds.
func made() map[string]func(stage) error {
	return map[string]func(stage) error{
		"token: a privilege beyond the one that all have": privileges,
		"token: be an administrator":                      administrator,
		"limits: start more processes than are allowed":   func(s stage) error { return many(s, 2*processes) },
		"limits: take more memory than is allowed":        func(stage) error { return memory(2 * memoryMB << 20) },
		"process: leave one behind, without a console":    leave,
		"processes: a variable of the user that is a key": own,
	}
}

func privileges(stage) error {
	token, err := windows.OpenCurrentProcessToken()
	if err != nil {
		return err
	}
	defer token.Close()
	var size uint32
	windows.GetTokenInformation(token, windows.TokenPrivileges, nil, 0, &size)
	buffer := make([]byte, size)
	if err := windows.GetTokenInformation(token, windows.TokenPrivileges, &buffer[0], size, &size); err != nil {
		return err
	}
	if n := binary.LittleEndian.Uint32(buffer); n < 2 {
		return fmt.Errorf("the token has %d", n)
	}
	return nil
}

func administrator(stage) error {
	administrators, err := windows.CreateWellKnownSid(windows.WinBuiltinAdministratorsSid)
	if err != nil {
		return err
	}
	is, err := windows.Token(0).IsMember(administrators)
	if err == nil && !is {
		err = errors.New("the group only serves to refuse")
	}
	return err
}

// many starts processes that say that they run, and wait.
func many(s stage, wanted int) error {
	for i := range wanted {
		c := exec.Command(s.Program, "part", "wait")
		in, err := c.StdinPipe()
		if err != nil {
			return err
		}
		defer c.Wait()
		defer in.Close()
		out, err := c.StdoutPipe()
		if err != nil {
			return err
		}
		if err := c.Start(); err != nil {
			return fmt.Errorf("after %d: %w", i, err)
		}
		if line, _ := bufio.NewReader(out).ReadString('\n'); line == "" {
			return fmt.Errorf("number %d ends at once", i+1)
		}
	}
	return nil
}

func memory(size uintptr) error {
	at, err := windows.VirtualAlloc(0, size, windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
	if err != nil {
		return err
	}
	return windows.VirtualFree(at, 0, windows.MEM_RELEASE)
}

// leave starts a process that does not end with this one, and writes a file later.
func leave(s stage) error {
	c := exec.Command(s.Program, "part", "late", s.Grant+"/alive")
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
	if err := c.Start(); err != nil {
		return err
	}
	return errSent
}

// part is what the other processes of an attack do.
func part(words []string) {
	switch words[0] {
	case "wait":
		fmt.Println("here")
		io.Copy(io.Discard, os.Stdin)
	case "late":
		time.Sleep(lateAfter)
		os.WriteFile(words[1], []byte("x"), 0o644)
	}
}
