package diagnostics

import (
	"bytes"
	"strings"
	"testing"
)

func TestForward(t *testing.T) {
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
	} {
		for _, size := range []int{1, 3, 1 << 20} {
			var out bytes.Buffer
			f := NewForward(&out, tokenRedactor())
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

func TestForwardLongLine(t *testing.T) {
	var out bytes.Buffer
	f := NewForward(&out, nil)
	long := strings.Repeat("x", 3*tailBytes)
	for i := 0; i < len(long); i += 1000 {
		f.Write([]byte(long[i:min(i+1000, len(long))]))
		if len(f.line) > tailBytes+1000 {
			t.Fatalf("%d bytes are held back", len(f.line))
		}
	}
	f.Flush()
	if out.String() != long {
		t.Errorf("%d bytes of %d came out", out.Len(), len(long))
	}
}
