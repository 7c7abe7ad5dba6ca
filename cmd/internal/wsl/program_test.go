//go:build unix

package wsl

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestList(t *testing.T) {
	p, _ := linux(t, "")
	all, err := p.List()
	if err != nil || !slices.Equal(all, []Distribution{{"Debian", true, 2}, {"Old", false, 1}}) || !p.IsRunning("debian") {
		t.Error(all, err)
	}
	t.Setenv(standIn, "stopped")
	if p.IsRunning("Debian") {
		t.Error("a stopped one runs")
	}
	t.Setenv(standIn, "none")
	if all, err := p.List(); all != nil || err != nil {
		t.Error(all, err)
	}
	if _, err := (Program{filepath.Join(t.TempDir(), "wsl.exe")}).List(); err == nil {
		t.Error("no wsl.exe")
	}
}

// TestStart relays a session, with every argument and the granted variables as they are.
func TestStart(t *testing.T) {
	p, home := linux(t, `cat >&2; printf '{"args":['; for a in "$@"; do printf '<%s>' "$a"; done; printf '],"dir":"%s","token":"%s","other":"%s"}\n' "$PWD" "$TOKEN" "$OTHER"; exit 5`)
	t.Setenv("TOKEN", "secret")
	t.Setenv("OTHER", "other")
	args := []string{"run", "--", "s", `a b\`, `q"r`, "$HOME", "`id`", "*", "", "ä", "a\nb", `\\"`}
	var out bytes.Buffer
	errs, err := os.Create(filepath.Join(t.TempDir(), "err"))
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	target := Target{"Debian", "/mnt"}
	end := soon(t, func() End {
		end, err := p.Start(target, args, target.Environment(os.Environ(), []string{"TOKEN"}), Streams{In: strings.NewReader("sent"), Out: &out, Err: errs})
		if err != nil {
			t.Error(err)
		}
		return end
	})
	want := `{"args":[<` + strings.Join(args, "><") + `>],"dir":"` + home + `","token":"secret","other":""}` + "\n"
	if !end.Started || end.Status != 5 || out.String() != want {
		t.Errorf("%+v\n%s\nwant\n%s", end, out.String(), want)
	}
	if sent, _ := os.ReadFile(errs.Name()); string(sent) != "sent" {
		t.Errorf("%q", sent)
	}
}

// TestNotStarted: the client's requests are still there for another answer, and the reason has its sentence.
func TestNotStarted(t *testing.T) {
	for name, c := range map[string]struct {
		target     Target
		has, words string
	}{
		"no mcp-jail":    {Target{"Debian", "/mnt"}, "all", "Debian has no mcp-jail: install it there"},
		"no such one":    {Target{"Gone", "/mnt"}, "all", `no distribution "Gone": choose Debian`},
		"none":           {Target{"Debian", "/mnt"}, "none", "WSL has no Linux distribution"},
		"of WSL 1":       {Target{"Old", "/mnt"}, "all", "Old runs under WSL 1"},
		"drives at PATH": {Target{"Debian", "/mnt"}, "path", "has no mcp-jail"},
	} {
		p, home := linux(t, "")
		t.Setenv(standIn, c.has)
		if c.has == "path" { // a mcp-jail of Windows is none of Linux
			c.target.Root = home
			put(t, filepath.Join(home, "c/bin/mcp-jail"), "echo '{}'")
			t.Setenv("LINUX_PATH", home+"/c/bin:relative::/usr/bin")
		}
		in, client := io.Pipe()
		errs, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer errs.Close()
		go client.Write([]byte("first"))
		var out bytes.Buffer
		end := soon(t, func() End {
			end, err := p.Start(c.target, []string{"run"}, os.Environ(), Streams{In: in, Out: &out, Err: errs})
			if err != nil {
				t.Error(err)
			}
			return end
		})
		if end.Started || out.Len() > 0 {
			t.Errorf("%s: %+v %q", name, end, out.String())
			continue
		}
		if err := p.Explain(c.target, end); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
		go func() {
			client.Write([]byte(" second"))
			client.Close()
		}()
		if rest, err := io.ReadAll(end.Rest); !strings.HasSuffix(string(rest), " second") || err != nil {
			t.Errorf("%s: %q, %v", name, rest, err)
		}
	}
}

// TestFound: the mcp-jail of PATH counts where the usual places have none, and Ask says where the drives are.
func TestFound(t *testing.T) {
	p, home := linux(t, "")
	put(t, filepath.Join(home, "opt/mcp-jail"), "echo mcp-jail 1.2.3; echo commit x")
	put(t, filepath.Join(home, "opt/wslpath"), `[ "$1 $2" = '-a C:\' ] && echo /win/c/`)
	t.Setenv("LINUX_PATH", home+"/opt:/usr/bin:/bin")
	got, err := p.Ask(context.Background(), "Debian")
	if err != nil || got != (Found{"1.2.3", "/win"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := os.Remove(filepath.Join(home, "opt/mcp-jail")); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Ask(context.Background(), "Debian"); err != nil || got.Version != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := p.Ask(context.Background(), "Gone"); err == nil || !strings.Contains(err.Error(), "no distribution with the supplied name") {
		t.Error(err)
	}
	put(t, filepath.Join(home, "opt/wslpath"), "exit 1")
	if _, err := p.Ask(context.Background(), "Debian"); err == nil {
		t.Error("no drive")
	}
	put(t, filepath.Join(home, "opt/wslpath"), "echo /somewhere")
	if _, err := p.Ask(context.Background(), "Debian"); err == nil || !strings.Contains(err.Error(), "does not mount the drive C") {
		t.Error(err)
	}
}

// TestLastLine: the last message of a server reaches the client without the end of its line too.
func TestLastLine(t *testing.T) {
	p, _ := linux(t, `printf '{"a":1}'`)
	var out bytes.Buffer
	end := soon(t, func() End {
		end, err := p.Start(Target{"Debian", "/mnt"}, nil, os.Environ(), Streams{In: strings.NewReader(""), Out: &out})
		if err != nil {
			t.Error(err)
		}
		return end
	})
	if !end.Started || out.String() != `{"a":1}` {
		t.Errorf("%+v, %q", end, out.String())
	}
}
