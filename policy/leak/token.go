package leak

import "strings"

// token is a kind of token that many programs know by its form.
type token struct {
	name       string
	begin      string     // the bytes with which each token of this kind begins, or which it has inside
	anchor     string     // four bytes of begin that are rare in texts
	inside     bool       // each token has begin inside: check looks at the text before it
	characters string     // the characters that may follow begin
	has        *[256]bool // characters, as a set
	least      int        // how many follow at least
	most       int        // and at most
	check      func(before, rest string) bool
}

const (
	digits       = "0123456789"
	letters      = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	alphanumeric = digits + letters
	urlSafe      = alphanumeric + "-_"
	maxToken     = 512          // bytes before begin that check gets, and of a private key those behind it
	longToken    = 2 * maxToken // bytes after begin of the longest kinds
)

// tokens returns the kinds that are looked for. A form is in the list if it has a beginning of its
// own and enough characters after it, so that it does not occur by chance. Where each form is
// documented, or which scanner has it, is in docs/leaks.md, "Kinds of tokens".
func tokens() []token {
	all := []token{
		{name: "GitHub token", begin: "ghs_", anchor: "ghs_", characters: urlSafe + ".", least: 80, most: longToken, check: isStateless},
		{name: "GitHub fine-grained token", begin: "github_pat_", anchor: "_pat", characters: alphanumeric + "_", least: 82, most: 82, check: isFineGrained},
		{name: "OpenAI key", begin: "T3BlbkFJ", anchor: "T3Bl", inside: true, characters: urlSafe, least: 20, most: 80, check: isOpenAI},
		{name: "Anthropic key", begin: "sk-ant-", anchor: "-ant", characters: urlSafe, least: 90, most: 140, check: isAnthropic},
		{name: "Google API key", begin: "AIza", anchor: "AIza", characters: urlSafe, least: 35, most: 35, check: looksRandom},
		{name: "npm token", begin: "npm_", anchor: "npm_", characters: alphanumeric, least: 36, most: 36, check: hasChecksum},
		{name: "PyPI token", begin: "pypi-AgEIcHlwaS5vcmc", anchor: "-AgE", characters: urlSafe, least: 70, most: longToken, check: looksRandom},
		{name: "private key", begin: "PRIVATE KEY-----", anchor: "KEY-", inside: true, characters: alphanumeric + "+/=\\ \t\r\n", least: 40, most: maxToken, check: isPrivateKey},
	}
	each := func(like token, begins string) {
		for _, begin := range strings.Fields(begins) {
			like.begin, like.anchor = begin, begin[:4]
			all = append(all, like)
		}
	}
	each(token{name: "GitHub token", characters: alphanumeric, least: 36, most: 251, check: hasChecksum}, "ghp_ gho_ ghu_ ghs_ ghr_")
	each(token{name: "GitLab token", characters: urlSafe, least: 20, most: 300, check: looksRandom}, "glpat- gldt- glrt- glsoat-")
	each(token{name: "Slack token", characters: alphanumeric + "-", least: 29, most: 250, check: isSlack}, "xoxb- xoxp- xoxa- xoxr- xoxs- xapp-")
	each(token{name: "AWS access key", characters: alphanumeric, least: 16, most: 16, check: isAWS}, "AKIA ASIA")
	each(token{name: "Stripe key", characters: alphanumeric, least: 24, most: 247, check: looksRandom}, "sk_live_ rk_live_")
	for i := range all {
		all[i].has = new([256]bool)
		for _, c := range []byte(all[i].characters) {
			all[i].has[c] = true
		}
	}
	return all
}
