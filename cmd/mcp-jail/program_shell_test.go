//go:build linux

package main

import (
	"fmt"
	"os"
	"testing"
)

// TestShell tests shells and coreutils under the default policy.
func TestShell(t *testing.T) {
	need(t, "node")
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"words.txt": "b\na\nb\n"})
	s := nodeSession(t, w)
	for script, want := range map[string]string{
		`sort words.txt | uniq -c | sort -rn | head -1 | tr -s ' '`: " 2 b\n\n",
		`(echo sub; (echo subsub) & wait) | cat`:                    "sub\nsubsub\n\n",
		`cat <<EOF | sed s/x/y/
x
EOF`: "y\n\n",
		`mkfifo p && (echo through >p &) && cat p && rm p`:                                                                                                       "through\n\n",
		`trap 'echo caught' TERM; kill -TERM $$; echo after`:                                                                                                     "caught\nafter\n\n",
		`i=0; while [ $i -lt 50 ]; do (true) & i=$((i+1)); done; wait; echo done`:                                                                                "done\n\n",
		`printf '#!/bin/sh\necho from tmp\n' >$TMPDIR/x && chmod +x $TMPDIR/x && $TMPDIR/x`:                                                                      "from tmp\n\n",
		`find . -name '*.txt' -exec wc -l {} + && cp words.txt c.txt && ln -s c.txt l && mv c.txt d.txt && rm l d.txt && ls`:                                     "3 ./words.txt\nwords.txt\n\n",
		`ps -e >/dev/null 2>&1 || ls -d /proc/[0-9]* >/dev/null; test -r /proc/self/status && test ! -e /proc/` + fmt.Sprint(os.Getpid()+100000) + ` && echo ok`: "ok\n\n",
		`echo "$HOME" | grep -c servers/ && touch ~/mine && ls ~ && rm ~/mine`:                                                                                   "1\nmine\n\n",
	} {
		if got := s.mustRun("sh", "-c", script); got != want {
			t.Errorf("%s\n got %q\nwant %q", script, got, want)
		}
	}
	s.mustFail("", "sh", "-c", "cat "+w.home+"/.ssh/id_ed25519")
	s.mustFail("", "sh", "-c", "echo x >"+w.base+"/outside")
	s.mustFail("", "sh", "-c", `test -n "$PLANTED_SECRET"`)
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d\nstderr: %s", status, &s.stderr)
	}
}
