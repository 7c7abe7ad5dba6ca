package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestAddMissing tests that grants are added to the present command line of a client's file, and
// only those that it lacks.
func TestAddMissing(t *testing.T) {
	for _, tt := range []struct{ line, flags, want, more, workspace string }{
		{"j run --read a -- x --read b", "--read b", "j run --read a --read b -- x --read b", "--read b", ""},
		{"j run --read ~/b -- x", "--read /home/u/b", "", "", ""},
		{"j run --read=/home/u/b/ -- x", "--read ~/b", "", "", ""},
		{"j run --write ~/b -- x", "--read ~/b", "", "", ""},
		{"j run --execute ~/b -- x", "--read ~/b", "", "", ""},
		{"j run --read ~/b -- x", "--write ~/b", "j run --read ~/b --write ~/b -- x", "--write ~/b", ""},
		{"j run --deny ~/b -- x", "--read ~/b", "j run --deny ~/b --read ~/b -- x", "--read ~/b", ""},
		{"j run --net a -- x", "--net a --net b", "j run --net a --net b -- x", "--net b", ""},
		{"j run --env b -- x", "--net b", "j run --env b --net b -- x", "--net b", ""},
		{"j run --workspace a --net a -- x", "--workspace b", "j run --net a --workspace b -- x", "--workspace b", ""},
		{"j run --limit memory_mb=8 --limit open_files=9 -- x", "--limit memory_mb=10", "j run --limit open_files=9 --limit memory_mb=10 -- x", "--limit memory_mb=10", ""},
		{"j run --limit memory_mb=12 -- x", "--limit memory_mb=10", "", "", ""},
		{"j run -- x", "--read b", "j run --read b -- x", "--read b", ""},
		{"j run x", "--read b", "none", "", ""},
		{"j run -- x", "--write . --read .env --read /b --read ~/c --write made/", "j run --write . --read ~/p/.env --read /b --read ~/c --write ~/p/made/ -- x", "--write . --read ~/p/.env --read /b --read ~/c --write ~/p/made/", "/home/u/p"},
		{"j run --read .env -- x", "--read .env", "", "", "/home/u/p"},
		{"j run --read /srv/p/.env -- x", "--read .env --read ./d", "j run --read /srv/p/.env --read /srv/p/d -- x", "--read /srv/p/d", "/srv/p"},
	} {
		line := strings.Fields(tt.line)
		got, more := ClientList{Line: line, Home: "/home/u", Workspace: tt.workspace}.addMissing(strings.Fields(tt.flags))
		want := tt.want
		if want == "" {
			want = tt.line
		}
		if want == "none" {
			want = ""
		}
		if strings.Join(got, " ") != want || strings.Join(more, " ") != tt.more {
			t.Errorf("%s\n%s: %q, %q", tt.line, tt.flags, got, more)
		}
		if !slices.Equal(line, strings.Fields(tt.line)) {
			t.Errorf("the line of the file is changed: %q", line)
		}
	}
}

// TestIsDefault tests that the arguments of a server are not taken for flags of mcp-jail.
func TestIsDefault(t *testing.T) {
	for line, want := range map[string]bool{
		"j run -- x": true, "j run -- x --preset a --write b": true, "j run --deny a -- x": true,
		"j run --preset a -- x": false, "j run --preset=a -- x": false, "j run --write a -- x": false,
	} {
		if got := isDefault(strings.Fields(line)); got != want {
			t.Errorf("%s: %t", line, got)
		}
	}
}

// TestClientListLine tests that the present flags of a client's file are kept, and that the text
// says which grants the file has already.
func TestClientListLine(t *testing.T) {
	r := Record{Server: "s", Diagnoses: []Diagnosis{
		{What: "one", Line: strings.Fields("j run --read gone --read a -- x"), Flags: []string{"--read", "a"}},
		{What: "two", Line: strings.Fields("j run --read gone --net h -- x"), Flags: []string{"--net", "h"}},
	}}
	now := ClientList{Format: "json", Key: "args", Where: []string{"Here"}, Line: strings.Fields("j run --read own --read a -- x"), Home: "/home/u", Reload: "Start Here again."}
	other := ClientList{Format: "toml", Key: "args", Where: []string{"There"}, Line: strings.Fields("j run -- x s3cret"), Secret: true}
	got := r.Text(now, other)
	for _, want := range []string{
		"  granted by now for Here: the next session has it. Start Here again\n",
		"\"args\": [\"run\", \"--read\", \"own\", \"--read\", \"a\", \"--net\", \"h\", \"--\", \"x\"]\n",
		"\nj run --read own --read a --net h -- x\n",
		"  for There, before the \"--\" of the list args, which has a secret and is not shown:\n\n\"--write\", \".\", \"--read\", \"a\",\n", // without --write . the workspace would not be granted any more
		"not shown:\n\n\"--write\", \".\", \"--read\", \"a\", \"--net\", \"h\",\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(got, "gone") || strings.Contains(got, "s3cret") {
		t.Error("it has what the files do not have any more, or a secret")
	}
	if t.Failed() {
		t.Log(got)
	}
}

// TestNotCombined tests that the text names the hosts that the combined command line does not
// grant.
func TestNotCombined(t *testing.T) {
	host := func(target string) Hint {
		return Hint{Axis: policy.AxisNet, Target: target, Flags: []string{"--net", target}}
	}
	a, b := Diagnosis{What: "a", Line: strings.Fields("j run --read a -- x"), Flags: []string{"--read", "a"}}, Diagnosis{What: "b", Line: strings.Fields("j run --net b -- x"), Flags: []string{"--net", "b"}, Hints: []Hint{host("b")}}
	r := Record{Server: "s", Diagnoses: []Diagnosis{a, b}, Remedies: []Hint{host("b")}}
	if got := r.Text(); strings.Contains(got, "not in it") || !strings.Contains(got, "\nj run --read a --net b -- x\n") {
		t.Errorf("%s", got)
	}
	r.Diagnoses = append(r.Diagnoses, Diagnosis{What: "c", Hints: []Hint{{Axis: policy.AxisNet, Missing: "connect"}}})
	for _, name := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		r.Remedies = append(r.Remedies, host(name))
	}
	_, got, _ := strings.Cut(r.Text(), "To grant all of this at once:\n")
	for _, want := range []string{"not in it: the hosts.", "add --net HOST for each", `not in it: "1", "2", "3", "4", "5" and 2 more. Nothing failed without that`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing: %s", want, got)
		}
	}
}

// TestManyLists tests that a line names five places at most, and that five lists are shown at most.
func TestManyLists(t *testing.T) {
	r := Record{Server: "s", Diagnoses: []Diagnosis{{What: "one", Line: strings.Fields("j run --read a -- x"), Flags: []string{"--read", "a"}}}}
	l := ClientList{Format: "json", Key: "args", Line: strings.Fields("j run -- x")}
	l.Where = strings.Fields("A B C D E F G H")
	if got := r.Text(l); !strings.Contains(got, "  for A, B, C, D, E and 3 more, in place of") || strings.Contains(got, "F") {
		t.Errorf("%s", got)
	}
	l.Where = []string{"Here"}
	got := r.Text(l, l, l, l, l, l, l)
	if strings.Count(got, `"args": [`) != 5 || !strings.Contains(got, "and 2 more entries of clients, which differ\n") {
		t.Errorf("%s", got)
	}
}
