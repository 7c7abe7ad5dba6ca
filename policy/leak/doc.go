// Package leak finds known secrets in bytes that leave a server: in its messages, and in its
// requests to hosts. Sought says which values are secrets, and a Finder looks for them. A Mask hides
// secrets in bytes that come to a server.
//
// # Who holds a secret
//
// The time that a Finder takes depends on the parts of a secret that a text has. So it may look only
// for what the side holds that writes the text, which is what Sought returns: another side would
// learn the secret by guessing parts. A Mask is for the values that its receiver must not get. Its
// time tells nothing of parts.
//
// # Forms
//
// A secret is found as it is, in hexadecimal digits of either case, together or in pairs, and in
// base64 with either alphabet at each of the three places that it can begin at within a group. Each
// of these is also found after escapes of JSON strings and of URLs, in any mixture and up to Depth
// times around one another: a tool often answers with JSON in a string of JSON. White space and its
// escapes may be between runs of eight or more digits of base64 and hexadecimal text, as line
// ends do in mail.
//
// Other forms are not looked for: compressed or encrypted text, secrets of which only a part is
// shown, and spellings that a program makes up. Of a value of more than 512 bytes, only the 512 in
// the middle are looked for.
//
// A Finder can also look for kinds of tokens that are known by their form. It finds them only as
// they are, not in escapes or encodings.
//
// # Streams
//
// Finder.Find takes a whole message. A Stream takes a text in pieces and finds secrets that lie
// across them. For that it keeps the end of the text: eighteen times the length of the longest
// form, since one byte takes eighteen as an escape in which each byte is escaped again.
//
// # Speed
//
// A first look decides where a second one is needed. One reason is that eight bytes of a form stand
// together: the first look reads four bytes at every fifth place of the text, and one of these
// places is in each such run. The other reason is an escape of a byte that a form may have there.
// Only the text around these places is unescaped and compared. On usual texts the first look is
// nearly all of the work, and nothing is copied. A text of nothing but escapes of letters takes the
// second look everywhere.
package leak
