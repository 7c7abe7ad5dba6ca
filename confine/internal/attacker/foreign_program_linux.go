package attacker

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// foreignProgram returns an executable file (elf(5)) for the 32-bit mode of the processor. The
// kernel has another table of system calls for it; a filter sees only that the architecture
// differs. The program ends with status 42 by its second system call, and is killed if that is
// refused.
func foreignProgram() ([]byte, error) {
	const at, header = 0x400000, 52 + 32
	var machine uint16
	var flags uint32
	var code []byte
	switch runtime.GOARCH {
	case "amd64":
		machine = 3
		code = []byte{
			0xb8, 20, 0, 0, 0, 0xcd, 0x80, // mov eax, getpid; int 0x80
			0xb8, 1, 0, 0, 0, 0xbb, 42, 0, 0, 0, 0xcd, 0x80, // mov eax, exit; mov ebx, 42; int 0x80
			0x0f, 0x0b, // ud2
		}
	case "arm64":
		machine, flags = 40, 0x5000000 // the EABI, version 5
		for _, word := range []uint32{
			0xe3a07014, 0xef000000, // mov r7, getpid; svc 0
			0xe3a07001, 0xe3a0002a, 0xef000000, // mov r7, exit; mov r0, 42; svc 0
			0xe7f000f0, // udf
		} {
			code = binary.LittleEndian.AppendUint32(code, word)
		}
	default:
		return nil, emptyHanded("there is no other mode")
	}
	var b bytes.Buffer
	b.WriteString("\x7fELF\x01\x01\x01")
	b.Write(make([]byte, 9))
	size := uint32(header + len(code))
	for _, field := range []any{
		uint16(2), machine, uint32(1), uint32(at + header), uint32(52), uint32(0), flags, // executable; its entry; where the table of segments is
		uint16(52), uint16(32), uint16(1), uint16(0), uint16(0), uint16(0), // sizes; one segment
		uint32(1), uint32(0), uint32(at), uint32(at), size, size, uint32(5), uint32(0x1000), // all of the file, to be read and executed
	} {
		if err := binary.Write(&b, binary.LittleEndian, field); err != nil {
			return nil, err
		}
	}
	b.Write(code)
	return b.Bytes(), nil
}

// runForeign succeeds if the kernel carried out the system calls of the program.
func runForeign([]string) error {
	program := get(foreignProgram())
	fd := get(unix.MemfdCreate("foreign", 0))
	defer unix.Close(fd)
	get(unix.Write(fd, program))
	pid := get(syscall.ForkExec(fmt.Sprintf("/proc/self/fd/%d", fd), []string{"foreign"}, &syscall.ProcAttr{}))
	var ws syscall.WaitStatus
	get(syscall.Wait4(pid, &ws, 0, nil))
	switch {
	case ws.Signaled() && ws.Signal() == unix.SIGILL:
		return emptyHanded("its calls are refused")
	case !ws.Exited() || ws.ExitStatus() != 42:
		return emptyHanded(fmt.Sprintf("it ended with status %#x", uint32(ws)))
	}
	return nil
}
