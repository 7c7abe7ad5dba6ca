package wsl

import (
	"slices"
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	for value, want := range map[string]Target{"Ubuntu-24.04": {"Ubuntu-24.04", "/mnt"}, "Debian:/": {"Debian", "/"}, "a:/win/d": {"a", "/win/d"}, "a:/mnt": {"a", "/mnt"}} {
		got, err := ParseTarget(value)
		if err != nil || got != want || got.String() != strings.TrimSuffix(value, ":/mnt") {
			t.Error(value, got, err)
		}
	}
	for _, value := range []string{"", "-u", "a b", "a:", "a:mnt", "a:/mnt/", "a:/../x", `a\b`, "a;b", "x:/a:b\x00"} {
		if got, err := ParseTarget(value); err == nil && value != "x:/a:b\x00" {
			t.Errorf("%q is taken: %v", value, got)
		}
	}
}

// TestWord maps paths, and nothing else.
func TestWord(t *testing.T) {
	for word, want := range map[string]string{
		`C:\Users\me`: "/mnt/c/Users/me", `d:/x y/ä`: "/mnt/d/x y/ä", `C:\`: "/mnt/c/", `--root=C:\a\b`: "--root=/mnt/c/a/b", `DIR=E:\`: "DIR=/mnt/e/",
		`\\wsl.localhost\Debian\home\me`: "/home/me", `\\WSL$\debian\srv\x`: "/srv/x", `--read=\\wsl$\Debian\x`: "--read=/x",
		"": "", "-y": "-y", "@scope/server": "@scope/server", "https://h.test/c:/x": "https://h.test/c:/x", "a:b": "a:b", "C:": "C:", "/mnt/c": "/mnt/c", `say "C"`: `say "C"`, `a\b`: `a\b`, "x=y=z": "x=y=z", "{\"a\":1}": "{\"a\":1}",
	} {
		if got, err := (Target{"Debian", "/mnt"}).Word(word); err != nil || got != want {
			t.Errorf("%q: %q, %v", word, got, err)
		}
	}
	if got, _ := (Target{"Debian", "/"}).Word(`C:\x`); got != "/c/x" {
		t.Error("drives at the root:", got)
	}
	for word, want := range map[string]string{
		`\\server\share\x`: "path that Linux does not have", `\\?\C:\x`: "path that Linux does not have", `\\wsl$\Ubuntu\home`: "in another distribution than Debian", `.\server.js`: "relative", `..\x`: "relative",
		`a,C:\x`: "among other text", `C:\a;D:\b=C:\x`: "", `"C:\x"`: "among other text", "file:///C:/x": "among other text", `--a=b=C:\x`: "among other text", `--x=\\s\y`: "path that Linux does not have",
	} {
		if got, err := (Target{"Debian", "/mnt"}).Word(word); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %q, %v", word, got, err)
		}
	}
}

func TestLine(t *testing.T) {
	for line, want := range map[string]string{
		`--wsl Debian --name x --read C:\a -- npx -y s C:\b`: "run --name x --read /mnt/c/a -- npx -y s /mnt/c/b",
		`--name x --wsl=Debian -- C:\node\npx.cmd -y s`:      `run --name x -- C:\node\npx.cmd -y s`, // the mcp-jail there knows it by its name
		`--name x -- cmd /c npx -y s`:                        "run --name x -- cmd /c npx -y s",
		`--name x -- node C:\s\x.js`:                         "run --name x -- node /mnt/c/s/x.js",
		`--wsl Debian one`:                                   "run one",
		`--name x -- C:\node\node.exe C:\s\x.js`:             "is a program of Windows",
		`--name x -- node.exe x`:                             "is a program of Windows",
		`--name x -- server --wsl Debian`:                    "run --name x -- server --wsl Debian", // of the server
		`--name x --workspace \\srv\x -- server`:             "path that Linux does not have",
		`--name x --env * -- server`:                         "--env '*' would pass every variable of Windows",
		`--env=* one`:                                        "name those that the server needs",
		`--env A* --read /x* -- server *`:                    "run --env A* --read /x* -- server *",
	} {
		flags, argv := strings.Fields(line), []string(nil)
		if at := slices.Index(flags, "--"); at >= 0 {
			flags, argv = flags[:at], flags[at+1:]
		}
		got, err := (Target{"Debian", "/mnt"}).Line(flags, argv)
		if err == nil && strings.Join(got, " ") != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
}

// TestEnvironment names the granted variables for wsl.exe, and no others.
func TestEnvironment(t *testing.T) {
	all := []string{`PATH=C:\Windows`, `Token=s;e`, `DIR=C:\a`, `DIRS=C:\a;D:\b`, "WSLENV=EVIL/u", "EVIL=1", "WSL_UTF8=0", "AWS_KEY=k", "Azure_Id=i", "HOME=C:\\x", `HALF=C:\a;b`, "LD_PRELOAD=x"}
	got := Target{"Debian", "/mnt"}.Environment(all, []string{"TOKEN", "DIR", "DIRS", "AWS_*", "AZURE_*", "HOME", "PATH", "*", "HALF", "LD_PRELOAD", "NONE"})
	for _, want := range []string{"TOKEN=s;e", "DIR=/mnt/c/a", "DIRS=/mnt/c/a:/mnt/d/b", "AWS_KEY=k", "AZURE_Id=i", `HALF=C:\a;b`, `PATH=C:\Windows`, "WSL_UTF8=1", "EVIL=1", "WSLENV=AWS_KEY/u:AZURE_Id/u:DIR/u:DIRS/u:HALF/u:TOKEN/u"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
	if n := len(got); n != len(all) {
		t.Errorf("%d variables: %q", n, got)
	}
}
