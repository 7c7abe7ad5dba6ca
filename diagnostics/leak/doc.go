// Package leak finds known secrets in bytes that leave a server: in its messages, and in its
// requests to hosts. Sought says which values are secrets, and a Finder looks for them.
//
// # Forms
//
// A secret is found as it is, in hexadecimal digits of either case, together or in pairs, and in
// base64 with either alphabet at each of the three places that it can begin at within a group. Each
// of these is also found behind escapes of JSON strings and of URLs, in any mixture and up to Depth
// times around one another: a tool often answers with JSON in a string of JSON. White space and its
// escapes may stand between eight or more digits of base64 and hexadecimal text, as line ends do
// in mail.
//
// Other forms are not looked for: compressed or encrypted text, secrets of which only a part is
// shown, and spellings that a program makes up. Of a value of more than 512 bytes, the middle is
// looked for.
//
// A Finder can also look for kinds of tokens that are known by their form. It looks for them as
// they are only.
//
// # Streams
//
// Finder.Find takes a whole message. A Stream takes a text in pieces and finds what lies across
// them: it keeps eighteen times the length of the longest form, which an escape in an escape has
// for a byte.
//
// # Speed
//
// A first look decides where a second one is needed: where eight bytes of a form stand together,
// of which it looks at four in every five bytes of the text, and where an escape stands for a byte
// that a form may have there. Only the places around are unescaped and compared. On usual texts
// the first look is nearly all of the work, and nothing is copied. A text of nothing but escapes
// of letters takes the second look everywhere.
package leak
