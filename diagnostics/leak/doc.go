// Package leak finds known secrets in bytes that leave a server: in its messages, and in its
// requests to hosts.
//
// # Forms
//
// A secret is found as it is, in hexadecimal digits of either case, and in base64 with either
// alphabet at each of the three places that it can begin at within a group. Each of these is also
// found behind escapes of JSON strings and of URLs, in any mixture and up to Depth times around
// one another: a tool often answers with JSON in a string of JSON. White space and its escapes may
// stand between the digits of base64 and hexadecimal text, as line ends do in mail.
//
// Other forms are not looked for: compressed or encrypted text, secrets of which only a part is
// shown, and spellings that a program makes up.
//
// # Streams
//
// Finder.Find takes a whole message. A Stream takes a text in pieces and finds what lies across
// them: it keeps as many bytes as the longest form has.
//
// # Speed
//
// All forms are searched for at once, after Wu and Manber (1994): a step looks at three bytes and
// skips as many as no form can begin at. Text without escapes is read once and not copied.
package leak
