package undo

import (
	"bufio"
	"encoding/json"
	"io"
	"time"
)

// record is a line of a journal: what was at a path (Was), that it changes again although it stands as
// it was noted last (Again), what stands there at the end of a call (Now), or what its other fields say.
type record struct {
	At    int64  `json:",omitempty"`
	Path  []byte `json:",omitempty"` // bytes, because a name need not be text
	Was   *State `json:",omitempty"`
	Again bool   `json:",omitempty"`
	Now   *State `json:",omitempty"`
	Call  *Call  `json:",omitempty"` // what follows belongs to this call
	Head  *Head  `json:",omitempty"`
	End   bool   `json:",omitempty"` // the session has ended
}

// Call is a tools/call of a client. Calls that run at the same time have one number; 0 is no call.
type Call struct {
	Number int
	Tool   string
}

// Head says which server a session is about, and where that server could write.
type Head struct {
	Server string
	Roots  []string // the directories and files that the server may write
	Undoes string   `json:",omitempty"` // the session that was undone, if the changes are those of an undo
}

func (r *record) line() []byte {
	r.At = time.Now().UnixNano()
	line, err := json.Marshal(r)
	if err != nil {
		panic(err) // numbers, bytes and texts
	}
	return append(line, '\n')
}

// parse calls f with each record of a journal. damaged reports whether a line cannot be read.
func parse(journal io.Reader, f func(*record)) (damaged bool, err error) {
	in := bufio.NewReaderSize(journal, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return damaged, err
		}
		if len(line) == 0 {
			return damaged, nil
		}
		r := &record{}
		if json.Unmarshal(line, r) != nil || err == io.EOF {
			damaged = true
			continue
		}
		f(r)
	}
}
