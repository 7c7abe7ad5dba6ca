package wsl

import (
	"slices"
	"strings"
	"testing"
)

// TestParse reads lists of several languages, in both encodings.
func TestParse(t *testing.T) {
	const quiet = "Ubuntu-24.04\r\nUbuntu\r\ndocker-desktop\r\nMy Linux\r\n"
	const verbose = "  NAME            STATE           VERSION\r\n* Ubuntu-24.04    Läuft gerade    2\r\n  Ubuntu          已停止          1\r\n  docker-desktop  Stopped         2\r\n  My Linux        Stopped         2\r\n"
	want := []Distribution{{"Ubuntu-24.04", true, 2}, {"Ubuntu", false, 1}, {"docker-desktop", false, 2}, {"My Linux", false, 2}}
	for name, encode := range map[string]func(string) []byte{
		"UTF-16": utf16LE,
		"a mark": func(s string) []byte { return utf16LE("\ufeff" + s) },
		"UTF-8":  func(s string) []byte { return []byte(s) },
		"twice":  func(s string) []byte { return utf16LE(strings.ReplaceAll(s, "\r\n", "\r\r\n")) },
	} {
		if got := Parse(encode(quiet), encode(verbose)); !slices.Equal(got, want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := Parse(nil, utf16LE("Windows Subsystem for Linux has no installed distributions.\r\n")); got != nil {
		t.Error(got)
	}
	if got := Text(append(utf16LE("ab"), 'x')); got != "ab" {
		t.Errorf("%q", got)
	}
}

// TestChoose gives each reason why servers do not run somewhere its sentence.
func TestChoose(t *testing.T) {
	two := func(name string, isDefault bool) Distribution { return Distribution{name, isDefault, 2} }
	old := Distribution{"Old", true, 1}
	for _, c := range []struct {
		all        []Distribution
		name, want string // a name, or words of the error
	}{
		{[]Distribution{two("Debian", true), two("Ubuntu", false)}, "", "Debian"},
		{[]Distribution{two("Debian", true), two("Ubuntu", false)}, "ubuntu", "Ubuntu"},
		{nil, "", "WSL has no Linux distribution: install one"},
		{nil, "Ubuntu", "WSL has no Linux distribution: install one"},
		{[]Distribution{two("Debian", true)}, "Ubuntu", `no distribution "Ubuntu": choose Debian`},
		{[]Distribution{two("Debian", false)}, "", "no default distribution: choose Debian"},
		{[]Distribution{two("docker-desktop", true), two("Debian", false)}, "", "default distribution of WSL, docker-desktop, is a part of another program, in which no servers are installed: choose Debian"},
		{[]Distribution{two("docker-desktop", true)}, "", "install one with `wsl --install -d Ubuntu`"},
		{[]Distribution{two("docker-desktop-data", false)}, "docker-desktop-data", "docker-desktop-data is a part"},
		{[]Distribution{two("podman-machine-default", true)}, "", "part of another program"},
		{[]Distribution{old, two("Debian", false)}, "", "Old runs under WSL 1, which has no Linux kernel, so a jail there has no walls: convert it with `wsl --set-version Old 2`, or choose Debian"},
		{[]Distribution{two("My Linux", true)}, "", `cannot be given the name "My Linux"`},
		{[]Distribution{two("-x", true)}, "", "cannot be given"},
	} {
		d, err := Choose(c.all, c.name)
		if got := d.Name; err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %q: %q, %v", c.all, c.name, got, err)
		}
	}
}
