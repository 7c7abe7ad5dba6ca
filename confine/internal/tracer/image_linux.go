package tracer

import (
	"bytes"
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// image is the stack of a program before its first instruction. From the stack pointer on it
// holds: argc, the pointers of argv, 0, the pointers of the environment, 0, the auxiliary vector,
// and further up the strings (fs/binfmt_elf.c, create_elf_tables).
type image struct {
	pid  int
	regs []byte // the registers
	sp   uint64
	data []byte // from the stack pointer on

	argv, env       []string
	argvAt, envAt   []uint64 // where the strings are
	auxv            []uint64 // with the AT_NULL at its end
	pointers        int      // bytes from the stack pointer to the end of auxv
	envFrom, envEnd uint64   // the strings of the environment
}

var errImage = errors.New("the stack of a new program cannot be read")

// word is the size of a pointer. Programs of other sizes cannot run under the jail's filter.
const word = 8

// Sizes of reads, in bytes. The kernel limits arguments and environment to 6 MiB, their vectors included
// (execve(2), "Limits on size of arguments and environment").
const (
	firstRead = 16 << 10
	lastRead  = 8 << 20
)

func readImage(pid int) (*image, error) {
	im := &image{pid: pid}
	var err error
	if im.regs, err = registers(pid); err != nil {
		return nil, err
	}
	im.sp = binary.NativeEndian.Uint64(im.regs[stackPointer:])
	for size := firstRead; size <= lastRead; size *= 2 {
		from := len(im.data)
		im.data = append(im.data, make([]byte, size-from)...)
		n, err := readMemory(pid, im.sp+uint64(from), im.data[from:])
		if err != nil {
			return nil, err
		}
		im.data = im.data[:from+n]
		if im.parse() {
			return im, nil
		}
		if from+n < size {
			break // there is no more
		}
	}
	return nil, errImage
}

func (im *image) parse() bool {
	at := 0
	next := func() (v uint64, ok bool) {
		if at+word > len(im.data) {
			return 0, false
		}
		at += word
		return binary.NativeEndian.Uint64(im.data[at-word:]), true
	}
	vector := func() (all []uint64, ok bool) {
		for {
			v, ok := next()
			if !ok || v == 0 {
				return all, ok
			}
			all = append(all, v)
		}
	}
	argc, _ := next()
	var ok bool
	if im.argvAt, ok = vector(); !ok || uint64(len(im.argvAt)) != argc {
		return false
	}
	if im.envAt, ok = vector(); !ok {
		return false
	}
	im.auxv = nil
	for {
		key, _ := next()
		value, ok := next()
		if !ok {
			return false
		}
		if im.auxv = append(im.auxv, key, value); key == 0 { // AT_NULL
			break
		}
	}
	im.pointers = at
	if im.argv, ok = im.strings(im.argvAt); !ok {
		return false
	}
	im.env, ok = im.strings(im.envAt)
	if n := len(im.env); ok && n > 0 {
		im.envFrom, im.envEnd = im.envAt[0], im.envAt[n-1]+uint64(len(im.env[n-1]))+1
	}
	return ok
}

func (im *image) strings(at []uint64) ([]string, bool) {
	all := make([]string, len(at))
	for i, addr := range at {
		from := addr - im.sp
		if from >= uint64(len(im.data)) {
			return nil, false
		}
		end := bytes.IndexByte(im.data[from:], 0)
		if end < 0 {
			return nil, false
		}
		all[i] = string(im.data[from : from+uint64(end)])
	}
	return all, true
}

// rewrite removes the variables that keep does not keep, from the vector and from memory, and
// replaces argument n by text, unless n is 0. If keep keeps all variables and n is 0, it writes
// nothing.
func (im *image) rewrite(keep func(string) bool, n int, text string) error {
	kept := make([]uint64, 0, len(im.envAt))
	strings := make([]byte, 0, im.envEnd-im.envFrom)
	for _, v := range im.env {
		if keep(v) {
			kept = append(kept, im.envFrom+uint64(len(strings)))
			strings = append(append(strings, v...), 0)
		}
	}
	if len(kept) == len(im.envAt) {
		if n == 0 {
			return nil
		}
		kept = im.envAt
	} else if err := im.write(im.envFrom, append(strings, make([]byte, cap(strings)-len(strings))...)); err != nil {
		return err
	}
	return im.place(kept, n, text)
}

// place writes the vectors with another environment, and with text as argument n if n is not 0. A
// new string goes after the vectors, which move down for it.
func (im *image) place(env []uint64, n int, text string) error {
	argv := append([]uint64(nil), im.argvAt...)
	sp, tail := im.sp, im.pointers
	size := word * (1 + len(argv) + 1 + len(env) + 1 + len(im.auxv))
	if n > 0 {
		room := (uint64(len(text)) + 1 + 15) &^ 15 // the stack pointer stays a multiple of 16
		sp -= room
		tail += int(room)
		argv[n] = sp + uint64(size)
	}
	b := make([]byte, 0, tail)
	b = binary.NativeEndian.AppendUint64(b, uint64(len(argv)))
	for _, vector := range [][]uint64{argv, {0}, env, {0}, im.auxv} {
		for _, v := range vector {
			b = binary.NativeEndian.AppendUint64(b, v)
		}
	}
	if n > 0 {
		b = append(append(b, text...), 0)
	}
	b = append(b, make([]byte, tail-len(b))...) // zeros, also over the rest of the old vectors
	if err := im.write(sp, b); err != nil || n == 0 {
		return err
	}
	binary.NativeEndian.PutUint64(im.regs[stackPointer:], sp)
	return setRegisters(im.pid, im.regs)
}

func (im *image) write(addr uint64, b []byte) error {
	n, err := writeMemory(im.pid, addr, b)
	if err == nil && n < len(b) {
		err = unix.EFAULT
	}
	return err
}
