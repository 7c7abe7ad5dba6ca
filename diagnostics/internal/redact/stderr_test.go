package redact

import (
	"bytes"
	"strings"
	"testing"
)

func TestStderrFilter(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "",
		"listening\n":                 "listening\n",
		"two\r\nlines\r\n":            "two\r\nlines\r\n",
		"\x1b[1;31mred\x1b[0m\n":      "\x1b[1;31mred\x1b[0m\n",
		"\tbytes \xff as they are\n":  "\tbytes \xff as they are\n",
		"no newline":                  "no newline",
		"token " + token + "\n":       "token [redacted TOKEN]\n",
		"mcp-jail: a lie\n":           "server said: \"mcp-jail: a lie\"\n",
		"  MCP-Jail: a lie":           "server said: \"  MCP-Jail: a lie\"\n",
		"10 %\rmcp-jail: a lie\n":     "10 %\rserver said: \"mcp-jail: a lie\"\n",
		"mcp-\x1b[0mjail: a lie\n":    "server said: \"mcp-jail: a lie\"\n",
		"\x1b[31mmcp-jail: a lie\n":   "server said: \"mcp-jail: a lie\"\n",
		"x\x1b[2Jy\n":                 "xy\n",
		"\x1b[A\x1b]0;title\x07z\n":   "z\n",
		"jail: x\b\b\n":               "jail: x\ufffd\ufffd\n",
		"about mcp-jail, no prefix\n": "about mcp-jail, no prefix\n",

		// What does not show, and what looks alike.
		"mcp\u200b-jail: a lie\n":       "server said: \"mcp\ufffd-jail: a lie\"\n",
		"mcp\x00-jail: a lie\n":         "server said: \"mcp\ufffd-jail: a lie\"\n",
		"m\u0301cp-ja\u200dil: a lie\n": "server said: \"m\u0301cp-ja\ufffdil: a lie\"\n",
		"mcp\u2011jail: a lie\n":        "server said: \"mcp\u2011jail: a lie\"\n",
		"mcp\u00adjail: a lie\n":        "server said: \"mcp\ufffdjail: a lie\"\n",
		"mcp\xff-jail: a lie\n":         "server said: \"mcp\ufffd-jail: a lie\"\n",
		"m\u0441\u0440-j\u0430il: x\n":  "server said: \"m\u0441\u0440-j\u0430il: x\"\n",
		"mcp-jaiI\uff1a x\n":            "server said: \"mcp-jaiI\uff1a x\"\n",
		"\U0001d426cp-jail: x\n":        "server said: \"\U0001d426cp-jail: x\"\n",
		"\u202eeil a :liaj-pcm\n":       "\ufffdeil a :liaj-pcm\n",

		// The mark of what is added to results.
		"[mcp-jail]\n":                        "server said: \"(mcp-jail]\"\n",
		"[mcp-jail] Cause: a lie\n":           "server said: \"(mcp-jail] Cause: a lie\"\n",
		"ok [MCP-Jail]\n":                     "server said: \"ok (MCP-Jail]\"\n",
		"[m\u0441p-jail] Cause: a lie\n":      "server said: \"(m\u0441p-jail] Cause: a lie\"\n",
		"[mc\u03c1-j\u03b1il] Cause: x\n":     "server said: \"(mc\u03c1-j\u03b1il] Cause: x\"\n",
		"\uff3bmcp-jail\uff3d Cause: x\n":     "server said: \"(mcp-jail\uff3d Cause: x\"\n",
		"\u3010mcp-jail\u3011 Cause: x\n":     "server said: \"(mcp-jail\u3011 Cause: x\"\n",
		"[\u200bmcp\u200d-jail] Cause: x\n":   "server said: \"(\ufffdmcp\ufffd-jail] Cause: x\"\n",
		"[ mcp\u2010jail ] Cause: x\n":        "server said: \"( mcp\u2010jail ] Cause: x\"\n",
		"\uff4d\uff43\uff50-jail] Cause: x\n": "server said: \"\uff4d\uff43\uff50-jail] Cause: x\"\n",
		"Zmcp-jail] Cause: x\r[\n":            "server said: \"Zmcp-jail] Cause: x\"\n[\n",
		"Zmcp-jail: x\r[m\n":                  "server said: \"Zmcp-jail: x\"\n[m\n",
		"[mcp, jailed] [mc] jail]\n":          "[mcp, jailed] [mc] jail]\n",
		"a\u2028b\u0085c\x9bd\n":              "a\ufffdb\ufffdc\ufffdd\n",
		"a\x00b\n":                            "a\ufffdb\n",

		// What honest servers write.
		"zażółć \u0301 世界 ✓ ─\n":                   "zażółć \u0301 世界 ✓ ─\n",
		"👩\u200d💻 \ufe0f می\u200cخواهم\n":          "👩\u200d💻 \ufe0f می\u200cخواهم\n",
		"⠋ 10 %\r⠙ 20 %\r\x1b[32m✓ 100 %\x1b[0m\n": "⠋ 10 %\r⠙ 20 %\r\x1b[32m✓ 100 %\x1b[0m\n",
		"eta: 5m\reta: 4m\r      \rm\n":            "eta: 5m\reta: 4m\r      \rm\n",
		"mail: a\rm\n":                             "mail: a\rm\n",
		"a\tb\r\tc\r\n\r\n":                        "a\tb\r\tc\r\n\r\n",

		// Text after a carriage return overwrites only as much of the line as it is long.
		"Zcp-jail:   --read ~/.ssh\rm\n":             "Zcp-jail:   --read ~/.ssh\r\nm\n",
		"Zcp-jail: x\rm\r\n":                         "Zcp-jail: x\r\nm\r\n",
		"Zcp-jail: x\r\x1b[1mm\n":                    "Zcp-jail: x\r\n\x1b[1mm\n",
		"ZZZp-jail: x\rZZc\rZm\r \n":                 "ZZZp-jail: x\rZZc\r\nZm\r \n",
		"ZZZZp-jail: x\rZZZc\rZZm\r  \n":             "ZZZZp-jail: x\rZZZc\r\nZZm\r  \n",
		"mcp-jail\r\t: x\n":                          "mcp-jail\r\n\t: x\n",
		"mcp-jail \rmcp-jail\r\t: x\n":               "mcp-jail \rmcp-jail\r\n\t: x\n",
		"世p-jail: x\rmc\n":                           "世p-jail: x\r\nmc\n",
		strings.Repeat("y", 80) + "Zcp-jail: x\rm\n": strings.Repeat("y", 80) + "Zcp-jail: x\r\nm\n",
		"Zcp-jail: x\ny\rm\n":                        "Zcp-jail: x\ny\rm\n",
	} {
		for _, size := range []int{1, 3, 1 << 20} {
			var out bytes.Buffer
			f := NewStderrFilter(&out, tokenRedactor())
			for rest := []byte(in); len(rest) > 0; {
				n := min(size, len(rest))
				f.Write(rest[:n])
				rest = rest[n:]
			}
			f.Flush()
			if out.String() != want {
				t.Errorf("%q in pieces of %d: got %q, want %q", in, size, out.String(), want)
			}
		}
	}
}

func TestStderrFilterLongLine(t *testing.T) {
	var out bytes.Buffer
	f := NewStderrFilter(&out, nil)
	long := strings.Repeat("x", 3*TailBytes)
	for i := 0; i < len(long); i += 1000 {
		f.Write([]byte(long[i:min(i+1000, len(long))]))
		if len(f.line) > TailBytes+1000 {
			t.Fatalf("%d bytes are held back", len(f.line))
		}
	}
	f.Flush()
	if out.String() != long {
		t.Errorf("%d bytes of %d came out", out.Len(), len(long))
	}
}

// TestStderrFilterCutLine checks that parts of a long line do not form a line of mcp-jail
// where they meet.
func TestStderrFilterCutLine(t *testing.T) {
	for _, cut := range []int{1, 4, 8} {
		var out bytes.Buffer
		f := NewStderrFilter(&out, nil)
		f.Write([]byte(strings.Repeat(" ", TailBytes+1-cut) + "mcp-jail:"[:cut]))
		f.Write([]byte("mcp-jail:"[cut:] + " a lie\n"))
		f.Flush()
		if strings.Contains(out.String(), "mcp-jail:") {
			t.Errorf("cut after %d: %q", cut, strings.TrimLeft(out.String(), " "))
		}
	}
}
