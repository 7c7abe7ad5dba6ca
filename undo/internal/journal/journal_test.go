package journal

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/undo/internal/object"
)

// TestJournal reads what it writes, also names with any byte.
func TestJournal(t *testing.T) {
	names := []string{"/a", "/with space", "/with \"quote\"", "/line\nbreak", "/\xff\xfe", "/ü"}
	want := []Record{{Word: WordHead, At: 1, Head: &Head{Server: "a server", Undoes: "x", Roots: names}}}
	for i, name := range names {
		state := object.State{Kind: object.File, Mode: 0o4755, UID: 1, GID: 2, Size: 3, Mtime: -4, Ctime: 5, ID: object.ID{Dev: 6, Ino: 1<<64 - 1, Birth: 7}, Nlink: 8, Data: 9, Lost: name}
		want = append(want,
			Record{Word: WordWas, At: int64(i), Path: name, State: state},
			Record{Word: WordAnew, At: int64(i), Path: name, State: object.State{Kind: object.Link, Target: name, Data: object.NoData}},
			Record{Word: WordNow, At: int64(i), Path: name, State: object.State{Kind: object.None, Data: object.NoData}},
			Record{Word: WordOpen, Path: name},
			Record{Word: WordLeft, At: 3, Path: name, State: state},
			Record{Word: WordGap, At: 4, Gap: &Gap{name, name}},
			Record{Word: wordCall, At: 2, Call: &Call{Number: 3, Tool: name, Beside: true}},
		)
	}
	want = append(want, Record{Word: WordEnd, At: 9})
	var text []byte
	for i := range want {
		text = want[i].Append(text)
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
		if got, _, err = parseJournal(bytes.NewReader(more), 0); err != nil || got[len(got)-1].Word != WordEnd {
			t.Fatalf("cut at %d, and more: %v, %+v", cut, err, got)
		}
	}
}

func TestJournalLeavesOut(t *testing.T) {
	head := string((&Record{Word: WordHead, Head: &Head{}}).Append(nil))
	for _, text := range []string{"was 1 \"/a\n", "was 1 \"/a\" q\n", "was 1 \"/a\" n more\n", head, "now x \"/a\" n\n", "nonsense\n"} {
		got, damaged, err := parseJournal(strings.NewReader(head+text+"end 1\n"), 0)
		if err != nil || !damaged || len(got) != 2 || got[1].Word != WordEnd {
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
			again = records[i].Append(again)
		}
		if second, _, err := parseJournal(bytes.NewReader(again), 0); err != nil || len(second) != len(records) {
			t.Errorf("%q: %v", again, err)
		}
	})
}
