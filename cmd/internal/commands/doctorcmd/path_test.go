package doctorcmd

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestCheckPath tests what doctor says of PATH now and after the next login, and which line it gives.
func TestCheckPath(t *testing.T) {
	for name, c := range map[string]struct {
		shell, now, next string // "": PATH after the login is not known
		home             string // a file that is there
		want, fix        string
	}{
		"now and next":      {"/bin/bash", "BIN", "BIN", "", "", ""},
		"now, not known":    {"/bin/bash", "BIN", "", "", "", ""},
		"now only":          {"/bin/bash", "BIN", "/usr/bin", "", "mcp-jail is in PATH of this shell, and not of the next one that you log in to", "'export PATH=\"BIN:$PATH\"' >>~/.profile`"},
		"bash_profile":      {"/bin/bash", "BIN", "/usr/bin", ".bash_profile", "mcp-jail is in PATH of this shell, and not of the next one that you log in to", ">>~/.bash_profile`"},
		"bash_login":        {"/usr/bin/bash", "BIN", "/usr/bin", ".bash_login", "mcp-jail is in PATH of this shell, and not of the next one that you log in to", ">>~/.bash_login`"},
		"zsh":               {"/usr/bin/zsh", "BIN", "/usr/bin", ".bash_profile", "mcp-jail is in PATH of this shell, and not of the next one that you log in to", ">>~/.zshrc`"},
		"fish":              {"/usr/bin/fish", "BIN", "/usr/bin", "", "mcp-jail is in PATH of this shell, and not of the next one that you log in to", "`fish_add_path BIN`"},
		"next only":         {"/bin/bash", "/usr/bin", "BIN", "", "mcp-jail is not in PATH of this shell", ""},
		"never":             {"/bin/sh", "/usr/bin", "/usr/bin", "", "mcp-jail is not in PATH: a shell finds it only by its path BIN/mcp-jail", ">>~/.profile`"},
		"never, not known":  {"", "/usr/bin", "", "", "mcp-jail is not in PATH of this shell", ">>~/.profile`"},
		"another copy next": {"/bin/bash", "BIN", "HOME/other", "other/mcp-jail", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			i, dir := newInstallation(t)
			testkit.PlantBelow(t, dir, "bin/mcp-jail")
			if c.home != "" {
				testkit.PlantBelow(t, dir, "home/"+c.home)
			}
			place := strings.NewReplacer("BIN", dir+"/bin", "HOME", dir+"/home").Replace
			i.host.Environ = append(i.host.Environ, "PATH="+place(c.now))
			if i.login.Shell = c.shell; c.next != "" {
				i.login.Terminal = []string{place(c.next)}
			}
			all := i.checkPath()
			if got := texts(all); got != place(c.want) {
				t.Fatalf("says %q, want %q", got, place(c.want))
			}
			if len(all) > 0 && !strings.Contains(all[0].Fix, place(c.fix)) {
				t.Errorf("the fix is %q, want %q", all[0].Fix, place(c.fix))
			}
		})
	}
	for name, c := range map[string]struct{ dir, shell, fix string }{
		"a clone":                    {"clone/bin", "/bin/bash", "type `echo 'export PATH=\"$HOME/clone/bin:$PATH\"' >>~/.profile`, and log in again; or install it for all shells: `sudo install HOME/clone/bin/mcp-jail* /usr/local/bin`, and then `mcp-jail wrap`"},
		"below HOME":                 {"tools", "/bin/zsh", "type `echo 'export PATH=\"$HOME/tools:$PATH\"' >>~/.zshrc`, and log in again"},
		"fish below HOME":            {"tools", "/bin/fish", "type `fish_add_path HOME/tools`"},
		"what a shell would replace": {"my $(tools)", "/bin/bash", "add HOME/my $(tools) to PATH in ~/.profile, and log in again"},
	} {
		t.Run(name, func(t *testing.T) {
			i, dir := newInstallation(t)
			testkit.PlantBelow(t, dir, "home/"+c.dir+"/mcp-jail", "home/clone/go.mod")
			i.self, i.login.Shell, i.login.Terminal = dir+"/home/"+c.dir+"/mcp-jail", c.shell, []string{"/usr/bin"}
			if fix := strings.ReplaceAll(i.checkPath()[0].Fix, dir+"/home/", "HOME/"); fix != c.fix {
				t.Errorf("the fix is %q, want %q", fix, c.fix)
			}
		})
	}
}

// TestLastingOnWindows: there the settings have the directories of PATH, and no file of a shell.
func TestLastingOnWindows(t *testing.T) {
	i, _ := newInstallation(t)
	i.host.OS, i.login.Shell = "windows", "/bin/bash"
	if fix := i.lasting(`C:\Program Files\mcp-jail`); fix != "open \"Edit environment variables for your account\" in the settings, add C:\\Program Files\\mcp-jail to Path, and open a new terminal" {
		t.Error(fix)
	}
}

// TestLoginShell tests whose shell is asked.
func TestLoginShell(t *testing.T) {
	i, _ := newInstallation(t)
	passwd := "root:x:0:0:root:/root:/bin/sh\nu:x:1001:1001:,,,:/home/u:/usr/bin/fish\nnone:x:1002:1002::/home/n:\n"
	for name, c := range map[string]struct {
		passwd string
		uid    int
		shell  string
		want   string
	}{
		"of the database":      {passwd, 1001, "/bin/zsh", "/usr/bin/fish"},
		"not in the database":  {passwd, 1003, "/bin/zsh", "/bin/zsh"},
		"no shell there":       {passwd, 1002, "/bin/zsh", "/bin/zsh"},
		"no database":          {"", 1001, "/bin/zsh", "/bin/zsh"},
		"a relative SHELL":     {"", 1001, "zsh", ""},
		"a part of the number": {"x:x:10011:1::/:/bin/sh\n", 1001, "", ""},
	} {
		host := i.host
		host.UID = c.uid
		host.Environ = []string{"SHELL=" + c.shell}
		host.ReadHead = func(string, int) ([]byte, error) {
			if c.passwd == "" {
				return nil, os.ErrNotExist
			}
			return []byte(c.passwd), nil
		}
		if got := loginShell(host); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestSessionPath tests what is read of environment.d.
func TestSessionPath(t *testing.T) {
	i, dir := newInstallation(t)
	testkit.PlantBelow(t, dir, "home/.config/environment.d/")
	for name, text := range map[string]string{
		"10-path.conf":  "OTHER=/x\nPATH=\"$HOME/bin:${HOME}/.cargo/bin:$PATH\"\n",
		"20-more.conf":  "PATH=/opt/more${PATH:+:$PATH}\n",
		"30-other.conf": "# PATH=/comment\nMYPATH=/mine\nPATH=relative:~/tilde\n",
		"notes.txt":     "PATH=/notes\n",
	} {
		testkit.WriteFile(t, dir+"/home/.config/environment.d/"+name, text)
	}
	got := slices.DeleteFunc(sessionPath(i.host), func(d string) bool {
		return !strings.HasPrefix(d, dir) && d != "/opt/more" && d != "/notes" && d != "/mine" && d != "/comment"
	})
	if want := []string{dir + "/home/bin", dir + "/home/.cargo/bin", "/opt/more"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
