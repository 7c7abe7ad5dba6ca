package report

import (
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Page is the name of a page of docs/explain, which `mcp-jail help NAME` prints. Names of
// pages never change. A test compares them with the pages.
type Page string

const (
	PageFsRead      Page = "fs-read"
	PageFsWrite     Page = "fs-write"
	PageFsSensitive Page = "fs-sensitive"
	PageFsProtected Page = "fs-protected"
	PageFsMove      Page = "fs-move"
	PagePathArg     Page = "path-argument"
	PageSocket      Page = "socket"

	PageExecute   Page = "execute"
	PageProgram   Page = "program"
	PageArguments Page = "arguments"
	PageBrowser   Page = "browser"
	PageNever     Page = "never"
	PageEnv       Page = "env"

	PageNetHost        Page = "net-host"
	PageNetAddress     Page = "net-address"
	PageNetName        Page = "net-name"
	PageNetScheme      Page = "net-scheme"
	PageNetRequest     Page = "net-request"
	PageNetLimit       Page = "net-limit"
	PageNetUnreachable Page = "net-unreachable"
	PageNetProxy       Page = "net-proxy"
	PageInbound        Page = "inbound"
	PageSecret         Page = "secret"
	PageLeak           Page = "leak"

	PageLimitMemory    Page = "limit-memory"
	PageLimitProcesses Page = "limit-processes"
	PageLimitFiles     Page = "limit-files"
	PageTimeout        Page = "timeout"

	PageProgramMissing Page = "program-missing"
	PageServerEnded    Page = "server-ended"
	PageStdout         Page = "stdout"
	PageMessage        Page = "message"
	PagePerCall        Page = "per-call"
	PagePossible       Page = "possible"
	PageElsewhere      Page = "elsewhere"

	PageConfig   Page = "config"
	PageConflict Page = "conflict"
	PageTrust    Page = "trust"
	PageReload   Page = "reload"

	PageUserns Page = "userns"
	PageGap    Page = "gap"
	PageJail   Page = "jail"

	PagePackageMissing Page = "package-missing"
	PagePackageInstall Page = "package-install"
	PagePackageScripts Page = "package-scripts"
	PagePinTools       Page = "pin-tools"
	PageUndo           Page = "undo"
	PageRecord         Page = "record"
)

// Reference returns the words that name the page after a sentence. It returns "" for no page.
func (p Page) Reference() string {
	if p == "" {
		return ""
	}
	return " (" + p.command() + ")"
}

func (p Page) command() string { return "mcp-jail help " + show.Line(string(p)) }

// PageOfReason returns the page about refusals with a reason. Refusals without a reason, and
// those with DeniedNotGranted and DeniedAbsent, have the page of their axis.
func PageOfReason(r policy.DenialReason) Page {
	return map[policy.DenialReason]Page{
		policy.DeniedAddress: PageNetAddress, policy.DeniedWrongName: PageNetName, policy.DeniedAmbiguous: PageNetName,
		policy.DeniedWrongScheme: PageNetScheme, policy.DeniedRequest: PageNetRequest, policy.DeniedLimit: PageNetLimit,
		policy.DeniedUnsupported: PageNetUnreachable, policy.DeniedSecret: PageSecret, policy.DeniedLeak: PageLeak,
		policy.DeniedArguments: PageArguments,
	}[r]
}

// PageOfCode returns the page about failures with a code and no known cause.
func PageOfCode(c Code) Page {
	return map[Code]Page{
		CodeExec: PageProgramMissing, CodeStartup: PageServerEnded, CodeDied: PageServerEnded, CodeConfig: PageConfig,
		CodeJail: PageJail, CodeTimeout: PageTimeout, CodeTools: PagePinTools, CodeLeak: PageLeak,
	}[c]
}

// PageOfLimit returns the page about a limit, by its key.
func PageOfLimit(key string) Page {
	return map[string]Page{
		KeyMemory: PageLimitMemory, KeyProcesses: PageLimitProcesses, KeyOpenFiles: PageLimitFiles, KeyFileSize: PageLimitFiles,
		KeyMessage: PageMessage,
	}[key]
}

// The keys of the limits table.
const (
	KeyMemory    = "memory_mb"
	KeyProcesses = "processes"
	KeyOpenFiles = "open_files"
	KeyFileSize  = "file_size_mb"
	KeyMessage   = "message_mb"
)
