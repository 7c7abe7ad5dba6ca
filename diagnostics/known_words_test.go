package diagnostics

import (
	"slices"
	"strings"
	"testing"
)

// TestOtherCauses has what servers say at the start that is no effect of a policy. Neither the path nor
// the host of their arguments is proposed then.
func TestOtherCauses(t *testing.T) {
	for _, text := range []string{
		"Usage: server [options] <dir>", "error: unknown option '--foo'", "error: unrecognized arguments: --foo", "flag provided: unknown flag: --x", "unexpected argument '--x' found",
		"error: the following arguments are required: name", "Error: too many arguments", "Error: invalid argument \"x\" for \"--n\" flag", "server: invalid option -- 'z'", "invalid value 'x' for '--n <N>'",
		"Error: invalid input", "Error: invalid JSON in the options", "RangeError: invalid date", "TypeError: Invalid URL", "SyntaxError: Invalid regular expression: invalid regex",
		"pydantic: 1 validation error for Settings", "Error: port must be a number", "Error: you must provide a name", "names must not be empty", "Error: you must specify a mode", "Error: --name is required",
		"Missing required option: name", "missing argument for --n", "error: missing field `name`", "Unexpected token < in a line", "Unexpected end of the text", "got an unexpected keyword 'x'",
		"bash: line 1: syntax error near", "SyntaxError: bad input", "Parse error: line 1", "Error parsing the options", "Unknown tool: foo", "Unknown method: foo",
		"the flag is not supported", "Unsupported platform", "NotImplementedError: not implemented", "server.tool is not a function", "foo is not defined", "x is not iterable", "Cannot read properties of the value",
		"reading 'x' of undefined", "reading 'x' of null", "TypeError: bad operand", "ReferenceError: x", "KeyError: 'x'", "ValueError: bad x", "AttributeError: 'X' object has no attribute 'y'", "IndexError: list index",
		"'NoneType' object is wrong", "ZeroDivisionError: oh", "division by zero", "panic: runtime error: nil pointer", "index 3 is out of range", "index out of bounds", "API rate limit exceeded", "429 Too Many Requests",
		"You exceeded your quota", "the table already exists", "port 80 is already in use", "listen EADDRINUSE: :::80", "duplicate key", "409 Conflict", "NOT NULL constraint", "the version does not match", "AssertionError: assertion",
		"integer overflow", "JavaScript heap", "fatal: out of memory", "Segmentation fault (core dumped)", "The operation was cancelled", "The operation was canceled", "aborted by the user", "ambiguous option", "deadlock detected",
	} {
		for _, arg := range []string{pathArg, hostArg} {
			ev := knownEvidence("")
			ev.Stage, ev.Tool, ev.Method, ev.Exit = StageStartup, "", "", &Exit{Code: 1}
			withArgs(&ev, arg)
			ev.Stderr = []string{text}
			if d := Diagnose(ev); d.Attribution != None || len(d.Words) > 0 {
				t.Errorf("%q, %s: %s, %q", text, arg, d.Attribution, d.Words)
			}
		}
	}
}

// TestWordsOfAKind has what servers say of a file or of a connection that they do not name, and which of
// a path and a host among their arguments is proposed.
func TestWordsOfAKind(t *testing.T) {
	for kind, texts := range map[string][]string{
		"--read ~/notes": {
			"Could not find the vault", "Cannot find the model", "Can't find the database", "Unable to locate the index", "Failed to find the repository", "could not load the settings", "Unable to load the schema", "Failed to load the dataset",
			"Error loading the notebook", "could not open the store", "Cannot open the keystore", "Failed to open the catalog", "Could not read the template", "Unable to read the collection", "Error reading the config", "Error opening the library",
			"Could not access the folder", "the data is not readable", "the workspace is missing", "No such directory", "not a valid directory", "the root is not a directory",
		},
		"--net db.example:5432": {
			"Connection error.", "connection failed", "Connection refused", "connection reset by peer", "Connection closed", "Connection terminated unexpectedly", "Connection lost", "All connection attempts failed", "Cannot connect", "Can't connect",
			"could not connect to server", "Unable to connect", "Failed to connect", "the client is not connected", "Network error", "Network request failed", "AxiosError: ERR_NETWORK", "socket hang up", "read ECONNRESET", "connect ETIMEDOUT", "write EPIPE",
			"Request timed out", "request timeout", "Max retries exceeded", "the service is unreachable", "Is the server running?", "No response from it", "ConnectTimeout", "ReadTimeout", "ConnectError", "MySQL server has gone away", "Failed to reach it",
		},
	} {
		for _, text := range texts {
			ev := knownEvidence(text)
			withArgs(&ev, pathArg, hostArg)
			if d := Diagnose(ev); d.Attribution != Likely || !slices.Equal(d.Words, strings.Fields(kind)) {
				t.Errorf("%q: %s, %q", text, d.Attribution, d.Words)
			}
		}
	}
}
