package wrapper

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"
)

// TestParse: where the wrapped command begins, and what env changes for it. In a line "|" separates
// words. An error names the word.
func TestParse(t *testing.T) {
	for line, want := range map[string]string{
		"timeout|5|x|-k|1":                 "x|-k|1",
		"timeout|-k|1s|--signal=TERM|5m|x": "x",
		"timeout|-fvk5|0.5|x":              "x",
		"timeout|--kill-after|5|1d|x":      "x",
		"timeout|--|5|x":                   "x",
		"timeout|x|5":                      "error x",
		"timeout|-5|x":                     "error -5",
		"timeout|--kill|5|1|x":             "error --kill", // an abbreviation
		"timeout|--verbose=1|5|x":          "error --verbose=1",
		"timeout|-k":                       "error -k",
		"timeout|--signal":                 "error --signal",
		"timeout|5":                        "",
		"/usr/bin/timeout|5|x":             "x",
		"nice|x|-n":                        "x|-n",
		"nice|-n|5|x":                      "x",
		"nice|-n5|x":                       "x",
		"nice|-10|x":                       "x",
		"nice|--10|x":                      "x",
		"nice|-+10|x":                      "x",
		"nice|--adjustment=1|x":            "x",
		"nice|-1x|y":                       "error -1x",
		"ionice|-c2|-n|7|-t|x":             "x",
		"ionice|-p|1":                      "error -p", // of another process
		"nohup|x":                          "x",
		"nohup|--|x":                       "x",
		"nohup|-x":                         "error -x",
		"nohup|-":                          "-",
		"stdbuf|-oL|-e|0|x":                "x",
		"stdbuf|--output=L|x":              "x",
		"taskset|-c|0,2-3|x":               "x",
		"taskset|0x3|x":                    "x",
		"taskset|-p|0x3|1":                 "error -p",
		"taskset|zz|x":                     "error zz",
		"time|-p|-f|%e|x":                  "x",
		"time|-o|f|x":                      "error -o", // it writes a file

		"env|x|A=1":                  "plain x|A=1",
		"env|A=1|B=|x|C=3":           "plain set A=1 set B= x|C=3",
		"env|-|A=1|x":                "plain set A=1 x",
		"env|-|-C|/d|x":              "plain -C|/d|x",
		"env|-i|x":                   "plain x",
		"env|-iv|x":                  "plain x",
		"env|--ignore-environment|x": "plain x",
		"env|-u|A|-uB|--unset=C|x":   "unset A unset B unset C x",
		"env|-C|/d|x":                "in /d x",
		"env|-C/d|x":                 "in /d x",
		"env|--chdir=/d|x":           "in /d x",
		"env|-iC/d|x":                "in /d x",
		"env|--|A=1|-x":              "plain set A=1 -x",
		"env":                        "plain ",
		"env|-C":                     "error -C",
		"env|-C||x":                  "error -C",
		"env|=1|x":                   "error =1",
		"env|-0":                     "error -0",
		"env|--chdi|/d|x":            "error --chdi",
		"env|--debug=1|x":            "error --debug=1",
		"env|--block-signal|x":       "error --block-signal",
		"env|-S|x y":                 "error -S",
	} {
		argv := strings.Split(line, "|")
		l, err := Parse(path.Base(argv[0]), argv)
		got := described(l)
		if unknown := new(Error); errors.As(err, &unknown) {
			got = "error " + unknown.Word
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func described(l Line) (text string) {
	if l.Plain {
		text += "plain "
	}
	for _, name := range l.Unset {
		text += "unset " + name + " "
	}
	if l.Dir != "" {
		text += "in " + l.Dir + " "
	}
	for _, v := range l.Set {
		text += fmt.Sprintf("set %s ", v)
	}
	return text + strings.Join(l.Inner, "|")
}

// TestOwn: the wrapper's own words, without those that are kept apart.
func TestOwn(t *testing.T) {
	for line, want := range map[string]string{
		"timeout|-k|1|5|x": "timeout|-k|1|5", "nice|-n5|--|x": "nice|-n5|--", "env|-i|-uA|-C/d|B=1|x": "env|-u|A|-C|/d|B=1",
	} {
		argv := strings.Split(line, "|")
		l, err := Parse(argv[0], argv)
		if got := strings.Join(l.Own, "|"); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", line, got, err, want)
		}
		if strings.Join(argv, "|") != line {
			t.Errorf("%s was changed to %q", line, argv)
		}
	}
}
