// Package diagnostics turns evidence about a failed MCP server into a diagnosis:
// what happened, which path, host, variable or program the policy refused, how
// sure that is, and the lines of configuration that grant it.
//
// It is pure. It opens no file, reads no clock and no environment, starts no
// goroutine; the host is asked only through functions that the caller puts into
// the [Evidence]. The same evidence always gives the same [Diagnosis].
//
// # How it goes
//
// The caller collects Evidence where a failure is seen: the stage, the exit or the
// time-out, the last lines of stderr (a [Tail] keeps them), the text of the
// failing answer, and what the jail recorded. [Diagnose] then
//
//  1. takes the recorded denials and the start's step and errno as facts,
//  2. extracts what the text names: paths, hosts, variables, programs,
//  3. judges each name against the profile, and drops those that the profile
//     allows or that the host lacks as well,
//  4. orders what is left by closeness to the failure, and
//  5. writes the rules that would grant it.
//
// The result is shown in four ways: [Diagnosis.ErrorFrame] answers a pending
// request, [Diagnosis.ResultMeta] and [Diagnosis.ResultBlock] go into a tool's
// result, [Diagnosis.Text] goes to stderr, and a [Record] keeps it for later.
// Errors that need no evidence have constructors: [ConfigFailure], [ExecFailure],
// [JailFailure].
//
// # How sure
//
// An [Attribution] is never stronger than its evidence. Certain needs a record of
// the jail or of its shim; no text, however plain, makes it. Likely needs a name
// in the text that the profile really refuses. Possible is a mere signature, such
// as EACCES. The record outranks the text: what the jail refused during the failing call
// is the cause and brings the lines, first of it what the text names too, and the first
// refusal before the clean-up behind it. Text adds to that. A host that was refused while
// the text speaks of a file stands behind that file.
//
// What a server refuses by a list of its own, what the policy grants, what the host would
// refuse as well, and what a service answers is not the jail's doing. Such a diagnosis is
// [Diagnosis.Silent], and nothing is added to the answer.
//
// # What a server can do with it
//
// Text of a server is data. It is printed in quotes that it cannot end, without
// control characters and escape sequences, and with the mark "[mcp-jail" taken
// apart. But a server chooses its words: it can print "EACCES, open '~/.ssh'" to
// have that line proposed. So a conclusion from text says that the server's
// message is its source, and brings no line for a sensitive path. No line at all lets a
// server write to what programs outside of the jail run or obey, or to what it is itself
// started from. What else is risky comes with a warning and never in passing, and nothing
// is ever granted by this package.
//
// # Limits
//
//   - Messages are understood in English, as runtimes print them; a translated
//     one leaves at most its errno.
//   - Paths are those of Unix. Of Windows paths nothing is concluded.
//   - A program that swallows the reason ("fetch failed") leaves Possible, unless
//     the jail recorded the refusal.
//   - ENOENT of a path that the jail hides is only told from a real one by
//     [Evidence].Exists.
//   - Lines to add are whole tables. They can be pasted below any file that does
//     not write the same list inline (fs = [...]) and has no such limits table.
//   - Redaction finds values in the usual encodings: see [Redactor].
package diagnostics
