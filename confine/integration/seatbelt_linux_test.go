//go:build seatbelt

package integration

import (
	"flag"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
)

// With the tag seatbelt, tests start servers by the code for macOS, and nothing confines those. So each
// test is in one table: it runs with the tag, or in the world of TestSeatbeltEgress, or it is left out for
// a reason. A new test that is in none is left out, and TestSeatbeltTable fails.

// underSeatbelt are the tests that run with the tag, each with what it shows there.
var underSeatbelt = map[string]string{
	"TestBeforeExec":                      "the last word of the caller before the server starts",
	"TestJailBlockedCallsDelayNoOthers":   "a call that waits keeps no other from going on",
	"TestJailCallResults":                 "calls have the results that they have without a jail",
	"TestJailEndOfFile":                   "the end of standard output",
	"TestJailEndsDaemons":                 "processes that leave the session",
	"TestJailExit":                        "how a server ended",
	"TestJailFewFiles":                    "a launcher that may open few files",
	"TestJailFileSize":                    "the limit of a file's size",
	"TestJailGreedyChild":                 "a child that exceeds the limit of memory",
	"TestJailHomePrograms":                "programs that keep files in the copy of HOME",
	"TestJailLauncherIsKilled":            "the death of mcp-jail",
	"TestJailMakesDirectories":            "directories that a rule asks for",
	"TestJailMakesNoCore":                 "no core dumps",
	"TestJailMemory":                      "the limit of memory",
	"TestJailMemoryOfManyChildren":        "the limit of memory, of many processes together",
	"TestJailOpenFiles":                   "the limit of descriptors",
	"TestJailParallelOpens":               "many files at once",
	"TestJailReportsLimits":               "a limit that was reached is on record",
	"TestJailScheduling":                  "what a server inherits",
	"TestJailSignalsArePassedOn":          "signals",
	"TestJailStartErrors":                 "why a start failed",
	"TestJailStartIsCancelled":            "a start that is cancelled at any moment",
	"TestJailSupervisorKilled":            "what is said of a supervisor that died",
	"TestJailSurvivors":                   "the death of any process at any moment",
	"TestJailThousand":                    "many starts at once",
	"TestJailUmask":                       "the umask",
	"TestSeatbeltCanaries":                "what must be refused before the server starts",
	"TestSeatbeltDeaths":                  "the death of each process of a start",
	"TestSeatbeltFailures":                "how sandbox-exec fails",
	"TestSeatbeltTable":                   "these tables",
	"TestServerCannotChangeItsSupervisor": "where the program of a supervisor may be",
	"TestSeatbeltCannotWatch":             "processes that cannot be looked at",
	"TestSeatbeltSecrets":                 "where the secrets of a server are not",
	"TestSeatbeltHome":                    "where the copy of HOME is",
	"TestSeatbeltTempDir":                 "the TMPDIR of a server",
	"TestJailHome":                        "the copy of HOME",
	"TestJailHomeChangesDuringCalls":      "the copy of a HOME that changes",
	"TestSeatbeltLeftProfiles":            "what launchers that were killed have left",
	"TestSeatbeltInbound":                 "ports on which a server listens",
	"TestSeatbeltEnvironment":             "what a server has of the variables of the host",
	"TestSeatbeltEgress":                  "granted hosts, by the tests of inWorldSeatbelt",
	"TestSeatbeltEvidence":                "what the log of the system tells of refusals",
	"TestUndumpableLauncher":              "a launcher that hides its memory",
	"TestUnreadableSupervisor":            "a program that its user may execute and not read",
	"TestSpecCannotBeSent":                "descriptors that the kernel does not pass",
}

// Reasons why a test does not run with the tag.
const (
	refusals       = "it is about what the server must not do: the program that stands for sandbox-exec refuses nothing"
	records        = "it is about refusals on record: nothing is refused, and macOS tells only its log"
	mechanisms     = "it is about mechanisms of Linux: namespaces, mounts, cgroups, seccomp, Landlock, mediated calls"
	hostNamespaces = "it is about the jail of Linux without namespaces"
	connects       = "it is about programs that connect themselves, or the sockets of Linux: on macOS only the session's proxy leads out"
	inboundPorts   = "it is about single inbound ports, which macOS does not have"
	asked          = "it is about refused reads on record, and about hosts that the user is asked about: it needs mediated calls or a network of Linux"
	sampled        = "the kernel of macOS has no such limit: TestJailReportsLimits has what the sampler does"
	asRoot         = "it needs root's rights, which are given up before any test"
)

// notUnderSeatbelt are the tests that do not run with the tag, by reason. Those whose names begin with
// TestHostNS are among them.
var notUnderSeatbelt = map[string][]string{
	refusals: {
		"TestCaseInsensitive", "TestJailAgreesWithThePolicy", "TestJailCarveOuts", "TestJailCommands", "TestJailCommandsHostile", "TestJailCommandsOwnProgram",
		"TestJailCommandsThreads", "TestJailDevices", "TestJailEntries", "TestJailExecWritten", "TestJailFewFilesManyCarveOuts", "TestJailFillsOnly", "TestJailGateway", "TestJailGatewayWithoutDescriptors", "TestJailGitDirectories",
		"TestJailHiddenLater", "TestJailHomeHolds", "TestJailHomeIsBounded", "TestJailHomeRules", "TestJailHostDevices", "TestJailHostReplaces", "TestJailInAJail",
		"TestJailInheritedFilesStayReadOnly", "TestJailIsolation", "TestJailMaskUnderReplacement", "TestJailMasksOfMissingNames", "TestJailMasksOnLinks",
		"TestJailMediatorDoesNotOpenItself", "TestJailNameRaceOfTwoJails", "TestJailNameRaces", "TestJailNullDevice", "TestJailParallelNames", "TestJailProcSecrets",
		"TestJailPrograms", "TestJailProtectedNames", "TestJailRaceForObjects", "TestJailRights", "TestJailSetID", "TestJailSocketInAGrant",
		"TestJailSwapsDuringBuild", "TestJailSwapsDuringResolution", "TestJailThreadNames", "TestJailWaivedNetwork", "TestServerCannotSlowItsSupervisor", "TestServerGuard", "TestUnmediated",
	},
	records: {
		"TestJailCommandsDenials", "TestJailDenials", "TestJailNamesPrograms", "TestJailRecordsAfterMissingNames", "TestJailRecordsEveryTime", "TestJailRecordsSocketsAndLinks",
	},
	mechanisms: {
		"TestCheckMounts", "TestChild", "TestCreateRulesetIsCompleteOrFails", "TestDeviceMountsDoNotPropagate", "TestHostMountsDoNotPropagate", "TestInitCapabilities",
		"TestJailCgroup", "TestJailCgroupIsOutOfReach", "TestJailCommandsSelfTest", "TestJailDescriptorTable", "TestJailEndsWhenMemoryCannotBeRead", "TestJailFaults",
		"TestJailHomeWithoutOverlay", "TestJailMissingCalls", "TestJailMountFlags", "TestJailResolvedThroughALink", "TestJailState",
		"TestJailSupervisorCannotPoll", "TestJailSupervisorGivesUp", "TestJailSwappedObjects", "TestJailSwappedParent", "TestJailTerminal", "TestJailTerminalCanBeWritten",
		"TestJailTerminalOfItsOwn", "TestJailUnanswered", "TestJailWithoutProc", "TestLandlockInKernel", "TestLandlockScopesInKernel", "TestNamespacesUsedUp", "TestPreparedAndMounts", "TestPreparedAndSecrets", "TestPreparedShowsNothing",
		"TestSeccompInKernel", "TestSeccompReachesEveryThread", "TestSelfTestDetects", "TestShortageIsNoGap", "TestSupervisorAnswersWithoutProcessesLeft", "TestSupervisorIsAsked",
		"TestSupervisorThreads", "TestUserNamespaceLimitCannotBeSet", "TestWholeCgroup", "TestWithoutNamespaces",
	},
	connects: {
		"TestEgress", "TestNetworkAddressRace", "TestNetworkControls", "TestNetworkDatagrams", "TestNetworkGoClient", "TestNetworkGrantedEtc", "TestNetworkHalfClosed",
		"TestNetworkHostsFile", "TestNetworkInterrupted", "TestNetworkIsolation", "TestNetworkJailBuiltTwice", "TestNetworkLastBytesArrive", "TestNetworkLauncherIsKilled",
		"TestNetworkManyConnections", "TestNetworkMissingCalls", "TestNetworkNamesKeepAddresses", "TestNetworkNonblockingConnect", "TestNetworkOptions", "TestNetworkPackets",
		"TestNetworkPassedSockets", "TestNetworkRules", "TestNetworkSocketNames", "TestNetworkSupervisorIsKilled", "TestNetworkSupervisorThreads",
	},
	asked: {
		"TestAskHost", "TestCertainReads", "TestCertainReadsNeedMediation", "TestRefusedChanges",
	},
	inboundPorts: {"TestJailAnsweredLater", "TestJailInbound", "TestJailInboundLastBytesArrive", "TestJailInboundOnly", "TestJailInboundTaken"},
	sampled:      {"TestJailInotify", "TestJailProcesses", "TestJailProcessesOfRoot", "TestJailQueuedSignals", "TestJailTerminals"},
	asRoot:       {"TestCaseInsensitiveFilesystems", "TestHomeMadeByOthers", "TestJailDeviceCommands", "TestJailFromPID1"},
}

// ownTemp is the TMPDIR of a server that has no working directory of its own.
const ownTemp = "."

// parts are the processes of a start, each the parent of the next.
var parts = []string{"launcher", "supervisor", "server"}

// temporary lists the TMPDIRs of servers that are there.
func temporary() []string {
	found, _ := filepath.Glob(sandboxexec.FakeTemp() + "*")
	return found
}

// refused returns the answer to an attempt that a jail refuses with errno: here it succeeds.
func refused(attacker.Outcome) attacker.Outcome { return attacker.Succeeded }

// onlySeatbelt leaves the other tests out: no code of theirs runs.
func onlySeatbelt() {
	names := slices.Sorted(maps.Keys(underSeatbelt))
	flag.Parse()
	asked, parts, _ := strings.Cut(flag.Lookup("test.run").Value.String(), "/")
	if chosen, err := regexp.Compile(asked); err == nil {
		names = slices.DeleteFunc(names, func(n string) bool { return !chosen.MatchString(n) })
	}
	run := "^(" + strings.Join(names, "|") + ")$"
	if parts != "" {
		run += "/" + parts
	}
	flag.Set("test.run", run)
}
