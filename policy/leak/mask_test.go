package leak

import (
	"errors"
	"strings"
	"testing"
)

// TestMaskLive tests that a live stream passes on each piece at once, hides a value in one piece, and
// ends with one in several.
func TestMaskLive(t *testing.T) {
	whole, stars := "you sent "+usual+"!", "you sent "+strings.Repeat("*", len(usual))+"!"
	for cut := range whole {
		live := NewMask([]string{usual}).Stream(true)
		out, err := live.Next(nil, []byte(whole[:cut]))
		if len(out) != cut || err != nil {
			t.Fatalf("not all is passed on: %s, %v", out, err)
		}
		out, err = live.Next(out, []byte(whole[cut:]))
		if split := cut > 9 && cut < 9+len(usual); split != errors.Is(err, errSplit) || !split && string(out) != stars {
			t.Fatalf("cut at %d: %s, %v", cut, out, err)
		}
	}
}

// TestMaskKeepsBack tests that what is kept back does not tell of a value: it is the same for any
// text of one length without line ends, and nothing is after a line end.
func TestMaskKeepsBack(t *testing.T) {
	m := NewMask([]string{usual})
	for n := range len(usual) + 1 {
		kept := func(text string) int {
			out, _ := m.Stream(false).Next(nil, []byte(text))
			return len(text) - len(out)
		}
		before := strings.Repeat("x", 200)
		if right, wrong, line := kept(before+usual[:n]), kept(before+strings.Repeat("z", n)), kept(before+usual[:n]+"\n"); right != wrong || line != 0 {
			t.Errorf("%d bytes: %d and %d are kept back, %d of a line", n, right, wrong, line)
		}
	}
}

func TestIsGuessable(t *testing.T) {
	for value, want := range map[string]bool{
		"": true, "hunter2": true, "Summer2024!": true, "aaaaaaaaaaaaaaaaaaaaa1": true, "0123456789012345678": true, "correcthorsebatterystaple": true,
		usual: false, "0c5d1a7e-52f1-4f0b-9d0e-6b1f2a3c4d5e": false, "0123456789abcdef": false,
	} {
		if got := isGuessable(value); got != want {
			t.Errorf("%s: %v", value, got)
		}
	}
	if NewMask([]string{"hunter2", "correcthorsebatterystaple"}) != nil {
		t.Error("a value that can be guessed is replaced")
	}
}
