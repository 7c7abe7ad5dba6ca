package mcpproxy

import (
	"strings"
	"testing"
)

func TestNonMessage(t *testing.T) {
	for line, want := range map[string]bool{
		"": true, " ": true, "Listening on 3000": true, "[INFO] started": true, "[123] started": true, "42": true, `"text"`: true, "null": true, "[]": true,
		"{": true, `{"id":1,"result":`: true, "{}{}": false, "{}": false, "[{}]": false, `{"level":30,"msg":"x"}`: false, "{\"a\":\"\xff\"}": false,
		`{"id":1,"result":NaN}`: false, `{"id":1,"result":Nan}`: true, `{"id":1,"result":-Infinit}`: true, `{"id":1,"result":+Infinity}`: true,
		byteOrderMark + "{}": false, byteOrderMark[:2] + "{}": true, byteOrderMark + byteOrderMark + "{}": true, " " + byteOrderMark + "{}": true,
	} {
		f, err := NewReader(strings.NewReader(line+"\n"), 0).Next()
		if err != nil || f.NonMessage() != want {
			t.Errorf("%q: junk %v, error %v", line, f.NonMessage(), err)
		}
	}
}
