// Package leak finds known secrets in text: in what leaves a server (Searcher), in what comes to it
// (Mask), and in what people read. Sought says which values of a server are secrets.
//
// # Forms
//
// A secret is found as it is, in hexadecimal digits, and in base64 of both alphabets wherever it begins
// in it, each also as the usual programs write it in strings of JSON and in URLs. The whole value must
// be there in one of these forms, of one piece.
//
// Kinds of tokens that are known by their form (kinds) are found as they are, which is also their
// form in JSON and URLs, in hexadecimal digits and in base64.
//
// # Time
//
// A server that does not know a secret may write the text, and see how long the search takes. So the
// searcher takes one step of a table for each byte, also after a part of a secret (automaton). Where it
// finds the last 32 bytes of a form, it compares the whole form.
//
// # Streams
//
// A Stream takes a text in pieces, and a MaskStream passes on such a text. Each keeps as much of its
// end as the longest form has, less one byte.
package leak
