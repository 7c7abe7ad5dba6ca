package winpath

import "testing"

// TestWithin: a directory holds itself and what is below it, in every spelling, and no neighbour.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		path, dir string
		want      bool
	}{
		{`C:\work`, `C:\work`, true},
		{`C:\work\`, `C:\work`, true},
		{`C:\work\a\b`, `C:\work`, true},
		{`c:/WORK/a`, `C:\work\`, true},
		{`C:\work\a`, `C:\`, true},
		{`C:\work\a`, `c:`, true},
		{`\\?\C:\work\a`, `C:\work`, true},
		{`C:\work \a`, `C:\work`, true},
		{`C:\work\x::$DATA`, `C:\work\x`, true},
		{`C:\other\..\work\a`, `C:\work`, true},
		{`\\server\share\a`, `\\SERVER\share`, true},
		{`\\?\UNC\server\share\a`, `\\server\share`, true},
		{`C:\workshop`, `C:\work`, false},
		{`C:\`, `C:\work`, false},
		{`D:\work\a`, `C:\work`, false},
		{`C:\work\..\a`, `C:\work`, false},
		{`\\server\shared`, `\\server\share`, false},
		{`\work\a`, `C:\work`, false},
		{`work\a`, `C:\work`, false},
	} {
		if Within(c.path, c.dir) != c.want {
			t.Errorf("%s in %s: want %t", c.path, c.dir, c.want)
		}
	}
}

// TestSlashed: the form with slashes, and the way back for paths of a drive.
func TestSlashed(t *testing.T) {
	for p, want := range map[string][2]string{
		`C:\Users\u`:           {"/C:/Users/u", `C:\Users\u`},
		`c:/Users//u/`:         {"/C:/Users/u", `C:\Users\u`},
		`C:\`:                  {"/C:", `C:\`},
		`C:`:                   {"/C:", `C:\`},
		`C:\a\.env::$DATA`:     {"/C:/a/.env", `C:\a\.env`},
		`C:\a\.ssh. .\id`:      {"/C:/a/.ssh/id", `C:\a\.ssh\id`},
		`C:\..\..\a`:           {"/C:/a", `C:\a`},
		`\\?\C:\a`:             {"/C:/a", `C:\a`},
		`\\server\share\x`:     {"//server/share/x", ""},
		`\\?\UNC\server\sh\x`:  {"//server/sh/x", ""},
		`~\.ssh`:               {"~/.ssh", ""},
		`a\b`:                  {"a/b", ""},
		`..\b`:                 {"../b", ""},
		`.`:                    {".", ""},
		`/etc/x`:               {"/etc/x", ""},
		`**/*.pem`:             {"**/*.pem", ""},
		`\??\D:\a`:             {"/D:/a", `D:\a`},
		`\\.\pipe\x`:           {"pipe/x", ""},
		`C:\Users\u\NTUSER~1.`: {"/C:/Users/u/NTUSER~1", `C:\Users\u\NTUSER~1`},
	} {
		got := Slashed(p)
		back, _ := FromSlashed(got)
		if got != want[0] || back != want[1] {
			t.Errorf("%s: %q and %q, want %q", p, got, back, want)
		}
		if again := Slashed(got); again != got {
			t.Errorf("%s: %q the second time, want %q", p, again, got)
		}
	}
	for _, p := range []string{"", "/", "/c", "/1:/a", "/C:a", "C:/a", "//C:/a"} {
		if got, ok := FromSlashed(p); ok {
			t.Errorf("%s: %s", p, got)
		}
	}
}
