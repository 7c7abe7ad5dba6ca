// Package diagnostics turns evidence about a failed MCP server into a diagnosis:
// what happened, which path, host, variable or program the policy refused, how
// certain that is, and the lines of configuration that grant it.
//
// The package is pure. It opens no file, reads no clock and no environment, and
// starts no goroutine. It asks about the host only through functions in the
// [Evidence]. The same evidence always gives the same [Diagnosis].
//
// # Steps
//
// The caller collects Evidence where it sees a failure: the stage, the exit or
// the timeout, the last lines of stderr (kept by a [Tail]), the text of the
// failing response, and the recorded denials. [Diagnose] then
//
//  1. takes the recorded denials, and the step and errno of the start, as facts,
//  2. extracts the names in the text: paths, hosts, variables, programs,
//  3. analyzes each name against the profile, and drops names that the profile
//     allows or that do not exist on the host,
//  4. ranks the remaining candidates: the record before the text, then by attribution, then
//     by their distance from the failure, and
//  5. writes the rules that would grant them.
//
// A diagnosis is shown in four ways: [Diagnosis.ErrorFrame] responds to a pending
// request, [Diagnosis.ResultMeta] and [Diagnosis.ResultBlock] are added to a
// tool's result, [Diagnosis.Text] goes to stderr, and a [Record] stores it.
// Failures that need no evidence have constructors: [ConfigFailure],
// [UsageFailure], [ExecFailure], [JailFailure].
// Each diagnosis and each hint names a [Page] of docs/explain.
//
// # Attribution
//
// An [Attribution] is never stronger than its evidence. Certain needs a record of
// the jail or of its init. Text alone is never Certain. Likely needs a name in the
// text that the profile refuses. Possible needs only a signature such as EACCES.
//
// The record outranks the text. Denials during the failing call are the cause and
// determine the proposed lines: first those that the text names too, then the
// earliest, because later ones often come from cleaning up. Text adds further
// candidates. A refused host ranks after a file if the text names the file.
//
// Some refusals are not the jail's: those by a server's own list, those of names that the policy
// grants, those that the host would make as well, and those of a remote service. Such a diagnosis
// has the Attribution None. If the server has responded, the diagnosis is mostly
// [Diagnosis.Silent], and nothing is added to the response. It says something if the client's
// roots, the server's private HOME, an unset variable or an unreached host explain the failure.
//
// # Hostile servers
//
// Text of a server is data. It is printed in quotes that it cannot end, without
// control characters and escape sequences, and with the mark "[mcp-jail" broken
// up. A server can still choose its words: it can print "EACCES, open '~/.ssh'"
// to have that line proposed. So a conclusion from text says that the server's
// message is its source, and no line for a sensitive path follows from text. No
// line ever lets a server write to files that programs outside the jail run or
// obey, or to its own program. Other risky lines come with a warning and only for
// the first candidate. This package never grants anything itself.
//
// # Limits
//
//   - Messages are understood in English, as runtimes print them. A translated
//     message provides at most its errno.
//   - Only Unix paths are understood, and no Windows paths.
//   - A program that hides the reason ("fetch failed") leads to Possible, unless
//     the jail recorded the refusal.
//   - Only [Evidence].Exists distinguishes the ENOENT of a hidden path from that
//     of a missing one.
//   - Lines to add are whole tables. They can be appended to any file that does
//     not write the same list inline (fs = [...]) and has no such limits table.
//   - Redaction finds values in common encodings only: see [Redactor].
//
// # Packages
//
// Below diagnostics/internal, each imports only those before it: said reads a server's text,
// redact keeps secrets out of it, report has the types of a diagnosis and writes them, grants
// writes the lines to add. facts answers what the evidence says of a path. names, limits, paths,
// network and starts conclude, each about its subject: a function takes a facts.Case and a
// reference or a denial, and returns a facts.Finding. This package ranks the findings and puts
// the best into a Diagnosis.
package diagnostics
