// Package selftest proves on a Mac that Seatbelt holds what mcp-jail builds on it. No Mac was at hand
// when it was written, so no server starts there before the probes of [Table] have passed on that
// machine.
//
//   - A [Test] has probes, and says what does not hold if one of them fails. Each [Probe] is an
//     attempt (package attempt) with the outcome that it must have inside a jail, and the one
//     that it must have outside. The second is its control: an attempt that fails everywhere shows
//     nothing, and counts as failed.
//   - [Run] makes two trees of files that are alike, a profile about one of them, and the text for
//     it by the generator that every start uses. It makes the attempts in the one tree without a
//     jail, in the other with one. A jail makes all attempts of its [Group].
//   - [Prove] keeps the result in the cache directory, for the [Key] of this machine. Where several
//     programs ask at once, one of them makes the test and the others wait for its result.
//   - [Cached] reads the result, and starts nothing.
//
// # Limits
//
// The probes show nothing on the user's screen: none opens a window, a dialog or a notification, also
// not in its control. So what Launch Services (open) and Apple events (osascript) would do is not probed.
// A job that launchctl has submitted outlives a self-test that is killed. What only root may do (mknod,
// chroot, mount), and what macOS refuses every program without a right of Apple's (task_for_pid), has no
// control here, and is not probed either.
package selftest
