package undo

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestJournal reads what it writes, also names with any byte.
func TestJournal(t *testing.T) {
	names := []string{"/a", "/with space", "/with \"quote\"", "/line\nbreak", "/\xff\xfe", "/ü"}
	want := []Record{{word: wordHead, At: 1, Head: &Head{Server: "a server", Undoes: "x", Roots: names}}}
	for i, name := range names {
		state := State{Kind: File, Mode: 0o4755, UID: 1, GID: 2, Size: 3, Mtime: -4, Ctime: 5, ID: ID{6, 1<<64 - 1, 7}, Nlink: 8, Data: 9, Lost: name}
		want = append(want,
			Record{word: wordWas, At: int64(i), Path: name, State: state},
			Record{word: wordAnew, At: int64(i), Path: name, State: State{Kind: Link, Target: name, Data: NoData}},
			Record{word: wordNow, At: int64(i), Path: name, State: State{Kind: None, Data: NoData}},
			Record{word: wordOpen, Path: name},
			Record{word: wordLeft, At: 3, Path: name, State: state},
			Record{word: wordGap, At: 4, Gap: &Gap{name, name}},
			Record{word: wordCall, At: 2, Call: &Call{Number: 3, Tool: name, Beside: true}},
		)
	}
	want = append(want, Record{word: wordEnd, At: 9})
	var text []byte
	for i := range want {
		text = want[i].append(text)
	}
	got, damaged, err := parseJournal(bytes.NewReader(text), 0)
	if err != nil || damaged || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v, %v\n%+v\nwant\n%+v", err, damaged, got, want)
	}
	// A line that was cut off is left out, wherever it was cut, and the lines behind it are not.
	for cut := range text {
		begun := text[bytes.LastIndexByte(text[:cut], '\n')+1 : cut]
		got, damaged, err := parseJournal(bytes.NewReader(text[:cut]), 0)
		whole := bytes.Count(text[:cut], []byte{'\n'})
		if err != nil || len(got) != whole || damaged != (len(begun) > 0) {
			t.Fatalf("cut at %d: %v, %v, %d records of %d", cut, err, damaged, len(got), whole)
		}
		if whole == 0 {
			continue
		}
		more := slices.Concat(text[:cut], []byte("\nend 9\n"))
		if got, _, err = parseJournal(bytes.NewReader(more), 0); err != nil || got[len(got)-1].word != wordEnd {
			t.Fatalf("cut at %d, and more: %v, %+v", cut, err, got)
		}
	}
}

func TestJournalLeavesOut(t *testing.T) {
	head := string((&Record{word: wordHead, Head: &Head{}}).append(nil))
	for _, text := range []string{"was 1 \"/a\n", "was 1 \"/a\" q\n", "was 1 \"/a\" n more\n", head, "now x \"/a\" n\n", "nonsense\n"} {
		got, damaged, err := parseJournal(strings.NewReader(head+text+"end 1\n"), 0)
		if err != nil || !damaged || len(got) != 2 || got[1].word != wordEnd {
			t.Errorf("%q was read as %+v, %v, %v", text, got, damaged, err)
		}
	}
	for _, text := range []string{"nonsense\n" + head, "end 1\n"} {
		if got, _, err := parseJournal(strings.NewReader(text), 0); err == nil {
			t.Errorf("%q was read as %+v", text, got)
		}
	}
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte("mcp-jail-undo-1 1 \"s\" \"\"\nwas 1 \"/a\" n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		records, _, _ := parseJournal(bytes.NewReader(text), 0)
		var again []byte
		for i := range records {
			again = records[i].append(again)
		}
		if second, _, err := parseJournal(bytes.NewReader(again), 0); err != nil || len(second) != len(records) {
			t.Errorf("%q: %v", again, err)
		}
	})
}
