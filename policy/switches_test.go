package policy

import "testing"

// TestSwitchesOff: what a server may take for the name of a tool that is off is off, and a look-alike of one that is on
// is not on.
func TestSwitchesOff(t *testing.T) {
	const name = "delete_repository"
	off := Switches{NewSwitch(name, false, "f:1"), NewSwitch("Straße", false, "f:2")}
	rest := Switches{NewSwitch(AnyTool, false, "f:3"), NewSwitch(name, true, "f:4")}
	for _, spelled := range []string{
		"Delete_Repository", "DELETE_REPOSITORY", "delete_repositor\u0079 ", "\tdelete_repository\n", "ｄｅｌｅｔｅ＿ｒｅｐｏｓｉｔｏｒｙ", "delete\u200b_repository",
		"\ufeffdelete_repository", "delete_\u202erepository", "delete_repo\u00adsitory", "delete_repoſitory", "DELETE_REPOSıTORY", "delete_repository\ufe0f", "delete_repository\x00",
	} {
		if by, is := off.Off(spelled); !is || by.Where != "f:1" {
			t.Errorf("%q is on", spelled)
		}
		if by, is := rest.Off(spelled); !is || by.Where != "f:3" {
			t.Errorf("%q is on where all but %s are off", spelled, name)
		}
	}
	for spelled, want := range map[string]bool{name: true, "STRASSE": true, "strasse": true, "delete_repositories": false, "": false} {
		if _, is := off.Off(spelled); is != want {
			t.Errorf("%q is off: %v", spelled, is)
		}
		if _, is := rest.Off(spelled); is != (spelled != name) {
			t.Errorf("%q is off: %v", spelled, is)
		}
	}
	if _, is := (Switches)(nil).Off(name); is {
		t.Error("a tool is off without a switch")
	}
}

// TestSwitchesMeet: a tool is on if it is on by both.
func TestSwitchesMeet(t *testing.T) {
	on, off := func(tool string) Switch { return NewSwitch(tool, true, "") }, func(tool string) Switch { return NewSwitch(tool, false, "") }
	all := []Switches{nil, {off("a")}, {off("A")}, {on("a")}, {off("*")}, {on("*")}, {off("*"), on("a")}, {off("*"), on("b"), on("a")}, {on("*"), off("a"), on("b")}}
	for _, a := range all {
		for _, b := range all {
			for _, tool := range []string{"a", "A", "b", "c"} {
				_, first := a.Off(tool)
				_, second := b.Off(tool)
				if _, is := a.Meet(b).Off(tool); is != (first || second) {
					t.Errorf("%s is off: %v, by %v and %v", tool, is, a, b)
				}
			}
		}
	}
}
