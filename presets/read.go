package presets

import (
	"bytes"
	"fmt"
	"regexp"
	"sync"

	"github.com/mcp-jail/mcp-jail/policy"
)

var serverLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[servers\.([A-Za-z0-9_-]+)\]$`) })

// MaxFile is how many bytes a preset of a file can have. Those that are built in have a few thousand.
const MaxFile = 32 << 10

// Read reads a preset of a file that is not built in. The line that begins its second part has its name. What
// such a file says is another's, and nothing of it holds before the user has seen it.
func Read(data []byte, file string) (*Preset, error) {
	if len(data) > MaxFile { // some files of a megabyte take minutes to decode
		return nil, policy.Problems{{File: file, Message: fmt.Sprintf("is too long for a preset, which can have %d bytes", MaxFile)}}
	}
	for line := range bytes.Lines(data) {
		if m := serverLine().FindSubmatch(bytes.TrimRight(line, " \t\r\n")); m != nil {
			return Decode(string(m[1]), data, file)
		}
	}
	return nil, policy.Problems{{File: file, Message: "has no line [servers.NAME]: it is no preset"}}
}
