package policy

import (
	"testing"
)

// TestCleanPath checks that a path is not clean if some server could read a way up in it,
// and that paths with merely unusual names are clean.
func TestCleanPath(t *testing.T) {
	for _, path := range []string{
		"", "/", "/pub", "/pub/", "/pub/a?x=../..", "/pub/a..b", "/pub/..a", "/pub/a..", "/pub/.well-known", "/pub/...", "/pub/a.", "/pub/.a.",
		"/pub/a%20b", "/pub/%20", "/pub/a%20..b", "/pub/a b", "/pub/1...2", "/pub/v1.0...v2.0", "/pub/@scope", "/pub/a+b", "/pub/a:b", "/pub/a,b=c",
		"/pub/%C3%A9t%C3%A9", "/pub/été", "/pub/%E6%97%A5%E6%9C%AC", "/pub/%E3%80%82%E3%81%AF", "/pub/AC%EF%BC%8FDC", "/pub/%EF%BC%A1", // 。は, AC／DC, Ａ
		"/pub/%F0%9F%91%A9%E2%80%8D%F0%9F%92%BB", "/pub/a%E2%80%A6", "/pub/C%23", "/pub/what%3F", // a woman with a joiner and a computer; a…
	} {
		if !CleanPath(path) {
			t.Errorf("%q is not clean", path)
		}
	}
	for _, path := range []string{
		"/pub/./a", "/pub/../a", "/pub//a", "/pub/..", "/pub/%2e%2E/a", "/pub/%2e./a", "/pub\\..\\a", "/pub/..%5ca", "/pub/..%2fa", "/pub/..;/a", "/pub/%252e%252e/a", "/pub/%zz", "/pub/%u002e",
		"/pub/%c0%ae%c0%ae/a", "/pub/%c0%ae./a", "/pub/%e0%80%ae%e0%80%ae/a", "/pub/..%c0%af", "/pub/..%ff/a", "/pub/%E9", // broken UTF-8
		"/pub/.%09./a", "/pub/..%0a/a", "/pub/..%0d%0a/a", "/pub/..%00/a", "/pub/..%00.png", "/pub/%7f../a", "/pub/a%0ab", "/pub/..%c2%85/a", "/pub/a%c2%9fb", // control characters
		"/pub/..%20/a", "/pub/%20../a", "/pub/.%20./a", "/pub/.. /a", "/pub/..%20.", "/pub/..%c2%a0/a", "/pub/..%e3%80%80/a", // spaces
		"/pub/.%e2%80%8b./a", "/pub/..%ef%bb%bf/a", "/pub/.%c2%ad./a", // invisible characters
		"/pub/%ef%bc%8e%ef%bc%8e/a", "/pub/．./a", "/pub/%e2%80%a4./a", "/pub/%e2%80%a5/a", "/pub/%ef%b9%92./a", "/pub/..%ef%bc%8fa", "/pub/a%ef%bc%8f..%ef%bc%8fb", "/pub/..%ef%bc%bca", // wide
		"/pub/..%3f/a", "/pub/..%23/a", // for servers that unescape before they cut off the query
	} {
		if CleanPath(path) {
			t.Errorf("%q is clean", path)
		}
		if _, ok := MatchNet([]NetRule{{Host: "a", PathPrefix: "/pub", Allow: true}}, "a", "https", 443, path, "GET"); ok {
			t.Errorf("%q is below /pub", path)
		}
	}
	if err := CheckNetRule(NetRule{Host: "a", PathPrefix: "/a/..\u200b", Allow: true}); err == nil {
		t.Error("a prefix with a way up is taken")
	}
}
