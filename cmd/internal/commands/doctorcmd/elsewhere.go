package doctorcmd

import "strings"

// elsewhere rewords advice of package confine that sends its reader to doctor, which prints it itself here.
var elsewhere = strings.NewReplacer(
	"report this with the output of mcp-jail doctor, which makes the self-test again", toReport,
	"report this with the output of `mcp-jail doctor`, which tests what this macOS knows", toReport,
	"report this with the output of `mcp-jail doctor`", toReport,
	"report this with the output of mcp-jail doctor", toReport,
	"run mcp-jail doctor, which makes the self-test", "run this again, and report it with all that is printed here if it stays so",
	" (mcp-jail doctor says how)", "",
)

const toReport = "report this with all that is printed here"
