package tracer

import (
	"encoding/binary"
	"slices"
	"testing"
)

// stackOf returns a stack at the address sp, as the kernel lays it out.
func stackOf(sp uint64, argv, env []string) []byte {
	auxv := []uint64{31, 0x1234, 6, 4096, 0, 0}
	at := sp + uint64(word*(1+len(argv)+1+len(env)+1+len(auxv)))
	head := binary.NativeEndian.AppendUint64(nil, uint64(len(argv)))
	var text []byte
	for _, list := range [][]string{argv, env} {
		for _, s := range list {
			head = binary.NativeEndian.AppendUint64(head, at+uint64(len(text)))
			text = append(append(text, s...), 0)
		}
		head = binary.NativeEndian.AppendUint64(head, 0)
	}
	for _, v := range auxv {
		head = binary.NativeEndian.AppendUint64(head, v)
	}
	return append(append(head, text...), "/bin/x\x00"...)
}

func TestParseImage(t *testing.T) {
	const sp = 0x7ffe0000
	for _, c := range []struct{ argv, env []string }{
		{[]string{"git", "status"}, []string{"A=1", "B="}},
		{[]string{""}, nil},
		{nil, []string{"A"}},
		{[]string{"x", "", "a\nb"}, []string{""}},
	} {
		data := stackOf(sp, c.argv, c.env)
		im := &image{sp: sp, data: data}
		if !im.parse() || !slices.Equal(im.argv, c.argv) || !slices.Equal(im.env, c.env) || len(im.auxv) != 6 {
			t.Errorf("%q %q: %+v", c.argv, c.env, im)
		}
		size := 0
		for _, v := range c.env {
			size += len(v) + 1
		}
		if int(im.envEnd-im.envFrom) != size {
			t.Errorf("%q: the environment takes %d bytes", c.env, im.envEnd-im.envFrom)
		}
		for n := range len(data) - len("/bin/x\x00") {
			if (&image{sp: sp, data: data[:n]}).parse() {
				t.Errorf("%q %q: the first %d bytes are enough", c.argv, c.env, n)
			}
		}
		other := slices.Clone(data)
		other[0]++
		if (&image{sp: sp, data: other}).parse() {
			t.Errorf("%q: another count of arguments is accepted", c.argv)
		}
	}
}

// FuzzImage checks that any stack is parsed or refused.
func FuzzImage(f *testing.F) {
	f.Add(uint64(0), stackOf(0, []string{"a"}, []string{"b"}))
	f.Add(^uint64(0)-8, stackOf(^uint64(0)-8, []string{"a"}, nil))
	f.Fuzz(func(t *testing.T, sp uint64, data []byte) { (&image{sp: sp, data: data}).parse() })
}
