package selftest

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// objects are what a tree consists of, in the order in which they are made: "name/" is a directory,
// "name!" a script, "name>target" a symbolic link, all else a file.
var objects = strings.Fields(`
	{t}/g/ {t}/g/file {t}/g/write {t}/g/run! {t}/g/link-me {t}/g/a/ {t}/g/a/b/ {t}/g/a/b/file
	{t}/g/hidden/ {t}/g/hidden/file {t}/g/hidden/again/ {t}/g/hidden/again/file {t}/g/Secret.key
	{t}/u/ {t}/u/file {t}/u/link-me {t}/g/link>../u/file
	{t}/w/ {t}/w/append {t}/w/truncate {t}/w/from {t}/w/unlink {t}/w/chmod {t}/w/over {t}/w/over-create
	{t}/w/run! {t}/w/link-me {t}/w/setuid {t}/w/fsize {t}/w/rmdir/ {t}/w/dir/ {t}/w/dir/file {t}/w/link>../u/file
	{t}/w/ro/ {t}/w/ro/write {t}/w/ro/append {t}/w/ro/truncate {t}/w/ro/unlink {t}/w/ro/chmod {t}/w/ro/utimes
	{t}/w/ro/setxattr {t}/w/ro/chflags {t}/w/ro/away {t}/w/ro/over {t}/w/ro/case
	{t}/w/x1/ {t}/w/x2/ {t}/w/x3/ {t}/w/x4/ {t}/w/x5/ {t}/w/x6/ {t}/w/x6/.git/ {t}/w/x6/.git/hooks/ {t}/w/x7/
	{t}/w/.git/ {t}/w/.git/hooks/ {t}/w/.git/hooks/old
	{t}/w/swap {t}/w/ro/swap {t}/w/swapdir/ {t}/w/swapdir2/ {t}/w/tomove>append {t}/w/.git/modules/ {t}/w/.git/modules/m/ {t}/w/.git/modules/m/file
	{t}/w/parent/ {t}/w/parent/kept/ {t}/w/parent/kept/file {t}/w/around/ {t}/w/around/kept/
	{t}/w/node_modules/ {t}/w/node_modules/p/ {t}/w/node_modules/p/.vscode/
	{t}/v/ {t}/v/file {t}/empty/ {t}/deep/ {t}/deep/e/ {t}/deep/e/file
	{t}/create/ {t}/create/file {t}/create/unlink {t}/create/write
	{t}/update/ {t}/update/file {t}/update/unlink {t}/delete/ {t}/delete/file {t}/delete/write
	{t}/ex/ {t}/ex/run! {t}/ex/other! {t}/home/ {t}/home/rmdir/ {t}/home/dir/
	{nfc}/ {nfc}-u/ {nfd}/ {nfd}-u/ {odd}/ {odd}-u/ {long}/w/ {long}/u/
	{s}/t/ {s}/t/file {s}/u/
`)

// entries are the rights in a tree. A letter is a right (policy.Rights); "-" is none. The origin is
// that of a rule where none is given.
var entries = strings.Fields(`
	{t}/g=r {t}/g/Secret.key=-:file {t}/g/hidden=- {t}/g/hidden/again=r
	{t}/w=rcud {t}/w/ro=r {t}/w/.git/hooks=r:protected {t}/w/parent/kept=r:protected {t}/w/around/kept=r
	{t}/v=rcud {t}/empty=rcud {t}/deep/e=rcud
	{t}/create=rc {t}/update=ru {t}/delete=rd {t}/ex=rx {t}/home=rcud:home
	{nfc}=rcud {nfd}=rcud {odd}=rcud {long}/w=rcud
`)

// unprotected are the paths of policy.Profile.Unprotected.
var unprotected = strings.Fields(`{t}/w/later.key {t}/w/third.key {t}/w/way/later`)

// listed are the programs of the group Programs. /bin/sh of macOS executes one of the other shells.
var listed = strings.Fields(`{t}/ex/run /bin/sh /bin/bash /bin/dash /bin/zsh /usr/bin/dash /usr/bin/bash /usr/bin/true`)

// systemDirs are where the programs of a probe and their libraries are.
var systemDirs = map[string][]string{
	"darwin": {"/System/Cryptexes", "/System/Library", "/System/Volumes/Preboot/Cryptexes", "/bin", "/private/var/db/dyld", "/private/var/select", "/sbin", "/usr"},
	"linux":  {"/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr"},
}

func rights(letters string) (r policy.Rights) {
	for _, c := range letters {
		r |= map[rune]policy.Rights{'r': policy.Read, 'c': policy.Create, 'u': policy.Update, 'd': policy.Delete, 'x': policy.Execute, '-': 0}[c]
	}
	return r
}
