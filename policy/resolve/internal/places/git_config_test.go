package places

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestParseConfig checks that the parser reads the same values as git. If git is
// installed, the test asks it.
func TestParseConfig(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "k=v\n[a]\nk=v": "k=v|a.k=v",
		"# c\n; c\n[core]\n":                                "",
		"[core]\n\thooksPath = .githooks\n":                 "core.hookspath=.githooks",
		"[CORE]HooksPath=a\n":                               "core.hookspath=a",
		"\ufeff[core]\r\n\thooksPath = a b \r\n":            "core.hookspath=a b",
		"[a]\nb\n":                                          "a.b=true",
		"[a]\nb=\n":                                         "a.b=",
		"[a]\nb = x # c\nc = \"x # c\"\n":                   "a.b=x|a.c=x # c",
		"[a]\nb = \"  x  \"  \n":                            "a.b=  x  ",
		"[a]\nb = x\\\n  y\n":                               "a.b=x  y",
		"[a]\nb = \"x\\\ny\"\n":                             "a.b=xy",
		"[a]\nb = a\\tb\\\\c\\\"d\n":                        "a.b=a\tb\\c\"d",
		"[filter \"Lfs x\"]\nclean = y":                     "filter.Lfs x.clean=y",
		"[a \"b\\\"c\\\\d\\e\"]\nk=v\n":                     "a.b\"c\\de.k=v",
		"[a.B.c]\nk=v\n":                                    "a.b.c.k=v",
		"[a \"\"]\nk=v\n":                                   "a.k=v",
		"[a]k=v;x\n[b]k = \"v;x\"y z;\n":                    "a.k=v|b.k=v;xy z",
		"[includeIf \"gitdir:~/w/\"]\n path = ~/w/config\n": "includeif.gitdir:~/w/.path=~/w/config",
		"[a]\nb = x  y z   \n":                              "a.b=x  y z",
		// Texts that git refuses.
		"[a]\nk v\n": "!", "[a\n]\nk=v\n": "!", "[a b]\nk=v\n": "!", "[a \"b]\nk=v\n": "!", "[a]\nk=\"v\n": "!", "[a]\nk=\\x\n": "!", "[a]\n1k=v\n": "!", "[a]\nk=v\n]": "a.k=v|!", "[a \"b\" c]\nk=v": "!",
	} {
		settings, err := parseGitConfig([]byte(text))
		var got []string
		for _, s := range settings {
			got = append(got, s.name()+"="+s.value)
		}
		if err != nil {
			got = append(got, "!")
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%q: got %q, want %q (%v)", text, s, want, err)
		}
		asGit(t, text, got)
	}
}

func asGit(t *testing.T, text string, got []string) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		return
	}
	file := filepath.Join(t.TempDir(), "config")
	testkit.WriteFile(t, file, text)
	cmd := exec.Command(git, "config", "--list", "-z", "-f", file)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.Output()
	var want []string
	for _, s := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if s != "" {
			name, value, set := strings.Cut(s, "\n")
			if !set {
				value = "true"
			}
			want = append(want, name+"="+value)
		}
	}
	if err != nil {
		want = []string{"!"}
		got = got[max(len(got)-1, 0):]
	}
	if w, g := fmt.Sprintf("%q", want), fmt.Sprintf("%q", got); strings.ReplaceAll(w, "a..k", "a.k") != g {
		t.Errorf("%q: git reads %s, and here it is %s (%v)", text, w, g, err)
	}
}
