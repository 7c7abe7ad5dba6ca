package wine

import (
	"bytes"
	"encoding/binary"
)

// randomLibrary returns bcryptprimitives.dll, without which no Go program starts and which Wine 8
// lacks. It has no code: its one function is that of another library.
func randomLibrary() []byte {
	const (
		at        = 0x1000 // where the one section is in memory
		alignment = 512
		names     = 40 + 4 + 4 + 2 // behind the table of exports and its three lists
		library   = "bcryptprimitives.dll\x00"
		function  = "ProcessPrng\x00"
		forwarded = "advapi32.SystemFunction036\x00"
	)
	var section bytes.Buffer
	write := func(to *bytes.Buffer, values ...any) {
		for _, v := range values {
			binary.Write(to, binary.LittleEndian, v)
		}
	}
	write(&section,
		uint32(0), uint32(0), uint16(0), uint16(0), uint32(at+names), uint32(1), uint32(1), uint32(1), // one function, one name
		uint32(at+40), uint32(at+44), uint32(at+48), // where the lists are
		uint32(at+names+len(library)+len(function)), uint32(at+names+len(library)), uint16(0),
		[]byte(library), []byte(function), []byte(forwarded))
	size := uint32(section.Len())

	var file bytes.Buffer
	write(&file, []byte("MZ"), make([]byte, 58), uint32(64), []byte("PE\x00\x00"))
	write(&file, uint16(0x8664), uint16(1), make([]byte, 12), uint16(240), uint16(0x2022)) // amd64, one section, a library
	write(&file, uint16(0x20b), uint16(0), uint32(0), uint32(alignment), make([]byte, 8), uint32(at),
		uint64(0x180000000), uint32(0x1000), uint32(alignment), uint16(6), uint16(0), uint32(0), uint16(6), uint16(0), uint32(0),
		uint32(2*at), uint32(alignment), uint32(0), uint16(2), uint16(0x160),
		uint64(1<<20), uint64(4096), uint64(1<<20), uint64(4096), uint32(0), uint32(16))
	write(&file, uint32(at), size, make([]byte, 120)) // the first of 16 directories is that of exports
	write(&file, []byte(".edata\x00\x00"), size, uint32(at), uint32(alignment), uint32(alignment), make([]byte, 12), uint32(0x40000040))
	file.Write(make([]byte, alignment-file.Len()))
	file.Write(section.Bytes())
	file.Write(make([]byte, 2*alignment-file.Len()))
	return file.Bytes()
}
