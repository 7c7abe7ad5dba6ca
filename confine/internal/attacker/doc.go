// Package attacker is the program in the jails of the tests. It makes attempts and reports their
// outcomes.
//
// An Attempt is a verb with arguments, such as Try("read", "/etc/shadow"). Run makes the
// attempts of its argument and prints one outcome for each, as a JSON list, when all are made: a
// program that is killed before reports nothing. An Outcome is "ok", perhaps followed by an
// answer, or the name of an errno. A verb returns "ok" only if the attempt got what it was made
// for.
//
// Verbs holds the verbs by name, CallVerbs those for calls that the supervisor mediates, and
// AttackVerbs those of package attacks. The files are named after their subject. A verb leaves
// nothing behind on a host without a jail, since the tests make each attempt there too.
//
// The package also has the attempts to make a system call by number through each ABI of the
// machine (ABIs), and attempts that race with a second thread.
//
// The package has some 5,200 lines, which are many short verbs: one program of tests, linked into
// no product. Its tables need every verb, so that one binary can make any attempt.
package attacker
